"""What every formula reads: items with their places, and the pool they came from.

A `Ranking` is made by a source and read by formulas, through two verbs and a few totals
over the pool. Formulas never name an axis, so that they hold for every layout.

    items.py    the items a formula is given
    parts.py    what a source hands over: ranks held, a tie across the cut, scores to count
    sums.py     how sums over places are worked out
    stops.py    how the first stop is found
    totals.py   totals over the pool
    greedy.py   an ideal order of items that take worth from each other
    memo.py     what several metrics ask is worked out once
    ranking.py  the verbs
"""

from jax_rank_metrics._ranking.items import Items as Items
from jax_rank_metrics._ranking.parts import Held as Held
from jax_rank_metrics._ranking.parts import Pool as Pool
from jax_rank_metrics._ranking.parts import Scored as Scored
from jax_rank_metrics._ranking.parts import Straddle as Straddle
from jax_rank_metrics._ranking.ranking import Ranking as Ranking
