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

from jax_rank_metrics._inputs.arrays import array as array
from jax_rank_metrics._inputs.arrays import boolean as boolean
from jax_rank_metrics._inputs.arrays import canonical as canonical
from jax_rank_metrics._inputs.arrays import float_dtype as float_dtype
from jax_rank_metrics._inputs.arrays import ids as ids
from jax_rank_metrics._inputs.arrays import integers as integers
from jax_rank_metrics._inputs.arrays import is_wide as is_wide
from jax_rank_metrics._inputs.arrays import kind_of as kind_of
from jax_rank_metrics._inputs.arrays import real as real
from jax_rank_metrics._inputs.arrays import same_lists as same_lists
from jax_rank_metrics._inputs.arrays import same_shape as same_shape
from jax_rank_metrics._inputs.arrays import unsharded as unsharded
from jax_rank_metrics._inputs.items import columns as columns
from jax_rank_metrics._inputs.items import item_arrays as item_arrays
from jax_rank_metrics._inputs.items import per_list as per_list
from jax_rank_metrics._inputs.items import relevant_items as relevant_items
from jax_rank_metrics._inputs.items import segments as segments
from jax_rank_metrics._inputs.items import weights_for as weights_for
from jax_rank_metrics._inputs.items import whole_numbers as whole_numbers
from jax_rank_metrics._inputs.options import axis_names as axis_names
from jax_rank_metrics._inputs.options import count as count
from jax_rank_metrics._inputs.options import cutoffs as cutoffs
from jax_rank_metrics._inputs.options import cuts as cuts
from jax_rank_metrics._inputs.options import deepest as deepest
from jax_rank_metrics._inputs.options import option as option
from jax_rank_metrics._inputs.options import positive as positive
from jax_rank_metrics._inputs.options import prng_key as prng_key
from jax_rank_metrics._inputs.options import tie_policy as tie_policy
