"""Against recorded numbers of recommender libraries; see `record_recommenders.py`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import jax_rank_metrics as jrm

PAGES = Path(__file__).parents[2] / "docs" / "coming-from"

RECORDED = json.loads(Path(__file__).with_name("recommenders.json").read_text())
KS = tuple(RECORDED["ks"])
LISTS = RECORDED["lists"]
ITEMS, USERS = 20, len(LISTS["ids"])
IDS = np.array(LISTS["ids"])
# How many users have seen each item.
COUNTS = np.bincount(np.concatenate(LISTS["seen"]).astype(int), minlength=ITEMS)


def geometric(ranks):
    """The multiplier of LensKit's users, who go on with a chance of 0.85."""
    return 0.85 ** (ranks - 1)


def test_values_of_users_are_those_of_rectools(agree):
    """Novelty by users, popularity and serendipity, of lists of 2 to 6 items."""
    liked = np.array(LISTS["relevant"])
    ranking = jrm.rank_ids(IDS, liked, item_columns={"counts": COUNTS})
    ours = {
        "novelty": jrm.novelty.of(ranking, k=KS, by="users", num_users=USERS),
        "popularity": jrm.popularity.of(ranking, k=KS, log=False),
        "serendipity": jrm.serendipity.of(ranking, k=KS),
    }
    assert set(ours) == set(RECORDED["users"])
    for name, theirs in RECORDED["users"].items():
        agree(ours[name].values, theirs)
    assert np.count_nonzero(RECORDED["users"]["serendipity"]) > USERS


@pytest.mark.parametrize(
    "name, discount_fn",
    [("counts", None), ("geometric", geometric), ("log2", jrm.log2_discount)],
)
def test_gini_index_is_that_of_lenskit(name, discount_fn, agree):
    """The Gini index of lists, and of exposure by rank."""
    state = jrm.exposure(IDS, ITEMS, discount_fn)
    agree(state.gini(), RECORDED["together"][f"gini of {name}"])


def test_personalization_is_that_of_recmetrics(agree):
    """For lists of one length, the mean cosine of pairs is the share in common."""
    state = jrm.exposure(np.array(LISTS["full_ids"]), ITEMS)
    agree(state.personalization(), RECORDED["together"]["personalization"])


@pytest.mark.parametrize("library", ["recbole", "rectools"])
def test_rows_of_the_page_give_one_number(library):
    """Every call that was recorded is a row, and the name beside it gives its number."""
    page = (PAGES / f"{library}.md").read_text()
    rows = dict(re.findall(r'^\| `([^`]+)` \| `"([^"]+)"`', page, re.M))
    lists, recorded = (RECORDED["top_k"][key] for key in ("lists", library))
    assert recorded["version"] in page
    relevant = jrm.pad_lists(lists["relevant"], lists=len(lists["ids"]), fill=-1)[0]
    ranking = jrm.rank_ids(np.array(lists["ids"]), relevant)
    names = tuple(rows[call] for call in recorded["values"])
    ours = jrm.measure(names, ranking)
    for name, theirs in zip(names, recorded["values"].values(), strict=True):
        np.testing.assert_allclose(np.mean(ours[name].values), theirs, atol=2e-7)
