"""What callers pass: checks it and gives it one form. What it cannot be, raises.

    arrays      one argument as an array: its kind, its dtype, its shape beside another's
    options     what is static: cutoffs, policies, choices, keys, names of mesh axes
    items       the items of lists: labels, masks, weights, ids and columns
    check       `jrm.check`: values that are legal, and probably not meant; it reads by
                values, and says what is odd by remarks
    pack, pad   `jrm.pack`, `jrm.pad_lists`: ids and ragged lists as arrays

What is known at trace time raises, whether inside `jax.jit` or not, with the name of the
argument, the value or both shapes, and what to pass instead. What depends on values
never raises inside `jax.jit`, and has a documented result. So behind this page arrays
are JAX arrays of real numbers in a dtype that JAX has switched on, their shapes agree,
and integers are what the caller passed: none was wrapped on its way to fewer bits.
"""

from jax_rank_metrics._inputs.arrays import *  # noqa: F403
from jax_rank_metrics._inputs.items import *  # noqa: F403
from jax_rank_metrics._inputs.options import *  # noqa: F403
