"""Rankings, which every formula reads: items with places, and the pool of judged items.

    a source   makes   RankingData       arrays, which cross jit, vmap and pickle
    jrm.rank   returns Ranking(data)     the reader: its only child is the data
    a call     makes   data.traced()     for one trace: with what its metrics share
    a metric   gets    Ranking(data)     of data that read ties as the metric does
    a verb     calls   a function of the data, such as `sums.expected`

Formulas never name an axis, so that they hold for every layout. A ranking that is read
outside of a metric makes a new memo in each verb. `residual` gives a metric data with
other labels, which the verbs put into every function of items. `Ranking.items` are ids in
rank order, for callers; `Items` are labels and columns, all that a formula's functions see.

The scores 9 7 7 7 4 with the labels 1 0 1 1 0 may be held in two ways:

    first ranks    with `keys`, of which three ranks hold 9 7 7. A 7 is missing, so that the
                   group straddles the cut: the pool tells that it has 3 items with the
                   labels 0 + 1 + 1, and the last item held stands for all of them, at a
                   place with 1 item above and 3 tied. precision@3 is (1 + 2·⅔) / 3
    counted        with `above` and `tied` of the three relevant items: 0 1 1 and 1 3 3. The
                   others are unlisted, and known only to have the label 0. A sum over items
                   takes none of them, so their value must be 0. Amounts that places count
                   may be 1 for each, `of_unlisted`: the items held then count by their
                   difference from it, −1 if irrelevant items are counted, and the group
                   of 3 has −1 − 1 + 3·1 = 1 irrelevant item

While it is traced, a ranking of first ranks may also hold what counts places
(`counted_data_of`). `metric.of` and `measure` then read counted places, which compile to
less. Whether metrics need more is found by trying: `UnknownPlaceError` says that a metric
asks for places that the data do not hold, and `measure_ranking` and `read_lists`
fall back to all ranks. So every check of unlisted items must raise it.

The data, and what it holds:

    data.py         `RankingData`: items with places, the pool, facts on lists, and, while
                    it is traced, how a metric reads them
    pool.py         the pool of judged items, with its scores or not, and the tie group that
                    straddles the cut
    ranked.py       items that have places, whichever way these are known

The reader:

    ranking.py      `Ranking`: the verbs, documented
    memo.py         results that the metrics of one call share

The verbs, as functions of the data:

    items.py        items as formulas read them
    labels.py       other labels than those passed
    sums.py         `expected_sum` and `expected_max`
    stops.py        `expected_first`
    concordance.py  `pairs`: how far the order by score agrees with the order by a value
    totals.py       `pool_sum`, `num_relevant` and other totals of a list
    ideal.py        `ideal_sum` and `ideal_first`: the best order of the pool
    shares.py       cutoffs that are shares of a list
    unlisted.py     what items are worth that are not listed
    unknown_values.py  lists that have no value: of NaN scores, or of gains that overflow

Beside the verbs, for formulas of the package:

    greedy.py       the ideal order of items whose gain depends on the items above them
    browsing.py     a user whose chance to go on depends on what was gained so far
"""

from jax_rank_metrics._ranking.data import RankingData as RankingData
from jax_rank_metrics._ranking.items import Items as Items
from jax_rank_metrics._ranking.labels import expected_worth as expected_worth
from jax_rank_metrics._ranking.ranked import Ranked as Ranked
from jax_rank_metrics._ranking.ranked import UnknownPlaceError as UnknownPlaceError
from jax_rank_metrics._ranking.ranking import Ranking as Ranking
from jax_rank_metrics._ranking.ranking import counted_data_of as counted_data_of
from jax_rank_metrics._ranking.ranking import data_of as data_of
from jax_rank_metrics._ranking.ranking import of_totals as of_totals
from jax_rank_metrics._ranking.ranking import traced_data as traced_data
from jax_rank_metrics._ranking.ranking import with_labels as with_labels
