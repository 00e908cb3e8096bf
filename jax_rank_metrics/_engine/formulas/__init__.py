"""The formulas: one short function per metric, over a `Ranking`, one family per file.

    cumulated_gain.py         gains, discounted and normalised: cg, dcg, ndcg
    hits.py                   relevant items among the first ranks: precision, recall, …
    positions.py              where relevant items rank: average precision, mean rank, …
    first_hit.py              where the first relevant item ranks: hit rate, reciprocal rank
    user_models.py            a user who may stop anywhere: rbp, err
    ntcir.py                  precision and gain in one ratio: Q-measure, P+, O-measure
    cwl.py                    a user whose chance to go on depends on the gain: inst, tbg
    goals.py                  a user who stops when a goal is met: bpm, ift
    early_recognition.py      relevant items in the first percent: ef, rie, bedroc, logauc
    order_agreement.py        labels against scores, pair by pair: opa, auc, tau, rho
    multilabel.py             multi-label measures, each with its own rule for ties
    interpolated.py           precision at levels of recall, and at multiples of R
    incomplete_judgements.py  for pools with unjudged items: bpref, infap
    counts.py                 numbers of items, and the share of judged items
    subtopics.py              novelty and diversity: alpha-nDCG, nrbp, subtopic recall
    intents.py                means over the intents of a query
    propensity_scored.py      extreme classification, where labels are missing: psp, psr
    exposure_fairness.py      exposure of groups against a target: awrf, ee, ndkl
    exposure_parity.py        exposure of groups against each other: parity, dtr, dir
    adjusted_for_chance.py    the rank of one relevant item compared with a random order
    two_rankings.py           overlap and order of two rankings, without labels
    nearest_neighbors.py      recall of nearest neighbours by distance, without labels
    popularity.py             how well known items are: popularity, novelty
    profiles.py               a list compared with its user's profile: popularity lift, …
    serendipity.py            relevant items above their rank by popularity
    diversity.py              how different the items of a list are
    catalog_exposure.py       what all lists recommend together
    pooled_metrics.py         all items as one list, as a state: one AUC, one precision
    group_exposures.py        what groups of items get over all lists, as a state
    group_recall.py           recall of groups of items, such as the long tail
    groups.py                 reads groups of items, and sums amounts by group
    label_fns.py              functions that formulas of labels share
    id_lists.py               reads lists of ids, and where their items tie

The docstring of `label_fns.py` shows the three steps in which a metric of labels is built.
"""

# Importing this package registers the names of all metrics.
from jax_rank_metrics._engine.formulas import adjusted_for_chance as adjusted_for_chance
from jax_rank_metrics._engine.formulas import counts as counts
from jax_rank_metrics._engine.formulas import cumulated_gain as cumulated_gain
from jax_rank_metrics._engine.formulas import cwl as cwl
from jax_rank_metrics._engine.formulas import diversity as diversity
from jax_rank_metrics._engine.formulas import early_recognition as early_recognition
from jax_rank_metrics._engine.formulas import exposure_fairness as exposure_fairness
from jax_rank_metrics._engine.formulas import exposure_parity as exposure_parity
from jax_rank_metrics._engine.formulas import first_hit as first_hit
from jax_rank_metrics._engine.formulas import goals as goals
from jax_rank_metrics._engine.formulas import group_recall as group_recall
from jax_rank_metrics._engine.formulas import hits as hits
from jax_rank_metrics._engine.formulas import (
    incomplete_judgements as incomplete_judgements,
)
from jax_rank_metrics._engine.formulas import intents as intents
from jax_rank_metrics._engine.formulas import interpolated as interpolated
from jax_rank_metrics._engine.formulas import multilabel as multilabel
from jax_rank_metrics._engine.formulas import ntcir as ntcir
from jax_rank_metrics._engine.formulas import order_agreement as order_agreement
from jax_rank_metrics._engine.formulas import popularity as popularity
from jax_rank_metrics._engine.formulas import positions as positions
from jax_rank_metrics._engine.formulas import profiles as profiles
from jax_rank_metrics._engine.formulas import propensity_scored as propensity_scored
from jax_rank_metrics._engine.formulas import serendipity as serendipity
from jax_rank_metrics._engine.formulas import subtopics as subtopics
from jax_rank_metrics._engine.formulas import user_models as user_models
