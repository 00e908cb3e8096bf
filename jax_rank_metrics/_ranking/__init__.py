"""Rankings, which every formula reads: items with places, and the pool of judged items.

A source makes a `Ranking` and formulas read it, through two verbs and a few totals over
the pool. Formulas never name an axis, so that they hold for every layout.

    items.py        items as formulas read them
    functions.py    checks of the functions that formulas pass to the verbs
    memo.py         results that several metrics ask of the same ranking
    pool.py         the pool of judged items, and its scores
    straddle.py     the tie group that straddles the cut
    held.py         the protocol of items that have places; items in one definite order
    tie_runs.py     items in rank order whose ties are runs of equal keys
    counted_places.py  a few items of each list whose places were counted
    soft_places.py  items with soft places, for training
    parts.py        the parts of a ranking, and what is known of them
    unlisted.py     what items are worth that are not listed
    sums.py         how `expected_sum` is computed
    stops.py        how `expected_first` is computed
    browsing.py     a user whose chance to go on depends on what was gained so far
    concordance.py  how far the order by score agrees with the order by a value
    shares.py       cutoffs that are shares of a list
    totals.py       totals over the pool, and the best order of its items
    greedy.py       the ideal order of items whose gain depends on the items above them
    ranking.py      the `Ranking` itself
    relabelled.py   the same places with other labels, for metrics linear in gains
"""

from jax_rank_metrics._ranking.counted_places import CountedPlaces as CountedPlaces
from jax_rank_metrics._ranking.held import DefiniteRanks as DefiniteRanks
from jax_rank_metrics._ranking.held import Held as Held
from jax_rank_metrics._ranking.held import UnknownPlaceError as UnknownPlaceError
from jax_rank_metrics._ranking.items import Items as Items
from jax_rank_metrics._ranking.pool import Pool as Pool
from jax_rank_metrics._ranking.pool import PoolScores as PoolScores
from jax_rank_metrics._ranking.ranking import Ranking as Ranking
from jax_rank_metrics._ranking.relabelled import Relabelled as Relabelled
from jax_rank_metrics._ranking.soft_places import SoftPlaces as SoftPlaces
from jax_rank_metrics._ranking.straddle import Straddle as Straddle
from jax_rank_metrics._ranking.tie_runs import TieRuns as TieRuns
