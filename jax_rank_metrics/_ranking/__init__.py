"""Rankings, which every formula reads: items with places, and the pool of judged items.

    a source   makes   RankingData        arrays alone: crosses jit, vmap and pickle
    jrm.rank   returns Ranking(data)      the reader: its only child is the data
    a call     makes   View(data)         for one trace: the memo that its metrics share
    a metric   gets    Ranking(data, view)  where the view reads ties as the metric does
    a verb     calls   a function of the view, such as `sums.expected`

Formulas never name an axis, so that they hold for every layout. A ranking that is read
outside of a metric makes a new view in each verb. `residual` gives a metric a view with
other labels, which the verbs put into every function of items.

The data, and what it holds:

    data.py         `RankingData`: items with places, the pool, and facts on lists
    pool.py         the pool of judged items, and its scores
    held.py         the protocol of items that have places; items in one definite order
    tie_runs.py     items in rank order whose ties are runs of equal keys
    counted_places.py  a few items of each list whose places were counted
    soft_places.py  items with soft places, for training
    straddle.py     the tie group that straddles the cut

The reader:

    ranking.py      `Ranking`: the verbs, documented
    view.py         `View`: the data as one metric reads it, while it is traced
    memo.py         results that the metrics of one call share

The verbs, as functions of a view:

    items.py        items as formulas read them
    sums.py         `expected_sum` and `expected_max`
    stops.py        `expected_first`
    concordance.py  `pairs`: how far the order by score agrees with the order by a value
    totals.py       `pool_sum`, `num_relevant` and other totals of a list
    ideal.py        `ideal_sum` and `ideal_first`: the best order of the pool
    shares.py       cutoffs that are shares of a list
    unlisted.py     what items are worth that are not listed

Beside the verbs, for formulas of the package:

    greedy.py       the ideal order of items whose gain depends on the items above them
    browsing.py     a user whose chance to go on depends on what was gained so far
"""

from jax_rank_metrics._ranking.data import RankingData as RankingData
from jax_rank_metrics._ranking.held import UnknownPlaceError as UnknownPlaceError
from jax_rank_metrics._ranking.items import Items as Items
from jax_rank_metrics._ranking.ranking import Ranking as Ranking
from jax_rank_metrics._ranking.ranking import counted_data_of as counted_data_of
from jax_rank_metrics._ranking.ranking import data_of as data_of
from jax_rank_metrics._ranking.ranking import view_of as view_of
from jax_rank_metrics._ranking.ranking import with_labels as with_labels
from jax_rank_metrics._ranking.view import View as View
