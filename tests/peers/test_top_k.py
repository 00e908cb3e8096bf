"""Against recorded numbers of RecBole and RecTools; see `record_top_k.py`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import jax_rank_metrics as jrm

RECORDED = json.loads(Path(__file__).with_name("top_k.json").read_text())
PAGES = Path(__file__).parents[2] / "docs" / "coming-from"


@pytest.mark.parametrize("library", ["recbole", "rectools"])
def test_rows_of_the_page_give_one_number(library):
    """Every call that was recorded is a row, and the name beside it gives its number."""
    page = (PAGES / f"{library}.md").read_text()
    rows = dict(re.findall(r'^\| `([^`]+)` \| `"([^"]+)"`', page, re.M))
    recorded = RECORDED[library]
    assert recorded["version"] in page
    ids = np.array(RECORDED["lists"]["ids"])
    width = max(map(len, RECORDED["lists"]["relevant"]))
    relevant = [
        row + [-1] * (width - len(row)) for row in RECORDED["lists"]["relevant"]
    ]
    ranking = jrm.rank_ids(ids, np.array(relevant))
    names = tuple(rows[call] for call in recorded["values"])
    ours = jrm.measure(names, ranking)
    for name, theirs in zip(names, recorded["values"].values(), strict=True):
        np.testing.assert_allclose(np.mean(ours[name].values), theirs, atol=2e-7)
