"""Rankings as formulas read them: items with places, and the pool of judged items.

    a source   makes   RankingData      arrays, which cross jit, vmap and pickle
    jrm.rank   returns Ranking(data)    the reader, whose only pytree child is the data
    a call     makes   Cache()          for one trace: the results that its metrics share
    a metric   gets    Ranking(data)    of `data.under(…)`, with ties read as its `ties` say
    a verb     calls   a function of the data, such as `sums.expected`

The verbs are the methods of `Ranking` that formulas call. Formulas never name an axis, so
they work for every layout, and they return a `PerList`. The place of an item is its rank,
or, if it is tied, the ranks of its tie group. A ranking keeps the places of all items, of
the first ranks, or of a few items whose places were counted; these are the *items held*.

Take the scores 9 7 7 7 4 with the labels 1 0 1 1 0. Unless places are soft, or the order is
known without keys, a `Ranked` holds these items in one of two ways:

    first ranks    `keys`. If three ranks are kept, their keys are 9 7 7, and one 7 is
                   missing. The pool tells that the tie group across the cut has 3 items,
                   and that their labels sum to 2. The last item kept stands for the whole
                   group, at a place with 1 item above and 3 tied. precision@3 is
                   (1 + 2·⅔) / 3
    counted        `above` and `tied` of the relevant items: 0 1 1 and 1 3 3. All other
                   items are unlisted: their labels are 0, and their values must be 0.
                   `Amount` says how sums over the items above a place include them

While it is traced, a ranking of first ranks may also hold a function that counts places.
Metrics then read the counted places, because this compiles to less code. A metric that
needs other places raises `UnknownPlaceError`, and then reads the first ranks instead. So
every check of unlisted items must raise this error.

    ranking_data.py    `RankingData`, and how a metric reads it while it is traced
    ranked_items.py    items that have places, ordered or counted
    pools.py           the pool, with or without its scores, and the group across the cut
    cache.py           results that the metrics of one call share
    item_fns.py        items as formulas read them, and the values of functions of items
    ranking.py         `Ranking`: the verbs, documented; each is a function of the data:
    sums.py            `expected_sum` and `expected_max`
    stops.py           `expected_first`
    concordance.py     `pairs`: how far two orders agree
    totals.py          `pool_sum`, `num_relevant`, `cutoffs` and other totals of a list;
                       lists without a value, because a score is NaN or a gain overflows
    best_order.py      `ideal_sum`, `ideal_first` and the greedy order of subtopics
    unlisted.py        the value of items that are not listed
    browsing.py        a user whose chance to read on depends on the gain so far; no verb
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
