"""Rankings, which every formula reads: items with places, and the pool of judged items.

    a source   makes   RankingData      arrays, which cross jit, vmap and pickle
    jrm.rank   returns Ranking(data)    the reader, of which the data is the only leaf
    a call     makes   Cache()          for one trace: the results that its metrics share
    a metric   gets    Ranking(data)    of `data.under(…)`, ties read as it wants
    a verb     calls   a function of the data, such as `sums.expected`

Formulas never name an axis, so that they hold for every layout, and return a `PerList`.
A `Ranked` holds the scores 9 7 7 7 4 with the labels 1 0 1 1 0 in one of two ways, if they
have neither soft ranks nor an order that is known without keys:

    first ranks    `keys`, of which three ranks hold 9 7 7. A 7 is missing: the pool tells
                   that the group across the cut has 3 items with the labels 0 + 1 + 1, and
                   the last item held stands for all of them, at a place with 1 item above
                   and 3 tied. precision@3 is (1 + 2·⅔) / 3
    counted        `above` and `tied` of the relevant items, 0 1 1 and 1 3 3. All others are
                   unlisted: they have the label 0, must be worth 0, and are counted by
                   places as `Amount` says

While it is traced, a ranking of first ranks may also hold what counts places. Metrics then
read counted places, which compile to less. Where these do not suffice, `UnknownPlaceError`
says so, and all ranks are read; every check of unlisted items must raise it.

    ranking_data.py    `RankingData`, and how a metric reads it while it is traced
    ranked_items.py    items that have places, whichever way these are known
    pools.py           the pool, with its scores or not, and the group across the cut
    cache.py           results that the metrics of one call share
    item_fns.py        items as formulas read them, and what functions of items give
    ranking.py         `Ranking`: the verbs, documented; each is a function of the data:
    sums.py            `expected_sum` and `expected_max`
    stops.py           `expected_first`
    concordance.py     `pairs`: how far two orders agree
    totals.py          `pool_sum`, `num_relevant`, `cutoffs` and other totals of a list;
                       lists without a value: of NaN scores, or of gains that overflow
    best_order.py      `ideal_sum`, `ideal_first` and the greedy order of subtopics
    unlisted.py        what items are worth that are not listed
    browsing.py        beside the verbs: a user who goes on by what was gained so far
"""

from jax_rank_metrics._engine.ranking.cache import Cache as Cache
from jax_rank_metrics._engine.ranking.item_fns import Items as Items
from jax_rank_metrics._engine.ranking.item_fns import expected_worth as expected_worth
from jax_rank_metrics._engine.ranking.ranked_items import Ranked as Ranked
from jax_rank_metrics._engine.ranking.ranked_items import (
    UnknownPlaceError as UnknownPlaceError,
)
from jax_rank_metrics._engine.ranking.ranking import Ranking as Ranking
from jax_rank_metrics._engine.ranking.ranking import counted_data_of as counted_data_of
from jax_rank_metrics._engine.ranking.ranking import data_of as data_of
from jax_rank_metrics._engine.ranking.ranking import of_totals as of_totals
from jax_rank_metrics._engine.ranking.ranking import traced_data as traced_data
from jax_rank_metrics._engine.ranking.ranking import with_labels as with_labels
from jax_rank_metrics._engine.ranking.ranking_data import RankingData as RankingData
