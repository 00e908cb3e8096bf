"""Checks of callers' arguments: each converts an argument to one form, or raises.

    arrays.py   one argument as an array: its kind, its dtype, and whether shapes agree
    options.py  static arguments: cutoffs, choices, numbers, names of mesh axes; random keys
    items.py    the items of lists: labels, masks, weights, ids, columns and attributes
    attribute_names.py  numbers for names among attributes, such as strings and dates
    libraries.py  objects of pandas, polars, Arrow, scipy and PyTorch, recognised without
                an import; Series, frames and dicts in the order of ids; masked arrays of
                NumPy, which are refused
    list_ids.py list ids of any kind, `jrm.hash_ids` and `jrm.pack`; weights by id
    padding.py  lists of any length: `jrm.pad_lists`, dicts of ids by query, and flat lists
                in padded blocks of few widths, so that few programs compile

The first parameter of nearly every function is the argument's name, for the message. A
wrong shape, dtype or static argument always raises, inside `jax.jit` too. The message names
the argument, shows its value or both shapes, and says what to pass instead. A wrong value
in an array never raises inside `jax.jit`: the public docstring states the result.

After these checks, code can rely on arrays of real numbers, integers or bools, in a dtype
that JAX has enabled, with shapes that agree. The arrays are NumPy arrays if the host
computes with them. Integers have the caller's values, because a conversion to fewer bits
raises instead of wrapping.
"""

from jax_rank_metrics._ground.inputs.arrays import array as array
from jax_rank_metrics._ground.inputs.arrays import boolean as boolean
from jax_rank_metrics._ground.inputs.arrays import first_index as first_index
from jax_rank_metrics._ground.inputs.arrays import float_dtype as float_dtype
from jax_rank_metrics._ground.inputs.arrays import ids as ids
from jax_rank_metrics._ground.inputs.arrays import integers as integers
from jax_rank_metrics._ground.inputs.arrays import is_readable as is_readable
from jax_rank_metrics._ground.inputs.arrays import is_wide as is_wide
from jax_rank_metrics._ground.inputs.arrays import kind_of as kind_of
from jax_rank_metrics._ground.inputs.arrays import numpy_array as numpy_array
from jax_rank_metrics._ground.inputs.arrays import on_host as on_host
from jax_rank_metrics._ground.inputs.arrays import real as real
from jax_rank_metrics._ground.inputs.arrays import (
    rounded_threshold as rounded_threshold,
)
from jax_rank_metrics._ground.inputs.arrays import same_lists as same_lists
from jax_rank_metrics._ground.inputs.arrays import same_shape as same_shape
from jax_rank_metrics._ground.inputs.arrays import unsharded as unsharded
from jax_rank_metrics._ground.inputs.arrays import with_nan as with_nan
from jax_rank_metrics._ground.inputs.attribute_names import has_pairs as has_pairs
from jax_rank_metrics._ground.inputs.attribute_names import (
    without_names as without_names,
)
from jax_rank_metrics._ground.inputs.attribute_names import (
    without_pairs as without_pairs,
)
from jax_rank_metrics._ground.inputs.items import attributes as attributes
from jax_rank_metrics._ground.inputs.items import check_distinct as check_distinct
from jax_rank_metrics._ground.inputs.items import check_names as check_names
from jax_rank_metrics._ground.inputs.items import columns as columns
from jax_rank_metrics._ground.inputs.items import columns_by_id as columns_by_id
from jax_rank_metrics._ground.inputs.items import group_memberships as group_memberships
from jax_rank_metrics._ground.inputs.items import ids_among as ids_among
from jax_rank_metrics._ground.inputs.items import ids_below as ids_below
from jax_rank_metrics._ground.inputs.items import ids_of_columns as ids_of_columns
from jax_rank_metrics._ground.inputs.items import item_arrays as item_arrays
from jax_rank_metrics._ground.inputs.items import item_columns as item_columns
from jax_rank_metrics._ground.inputs.items import item_mask as item_mask
from jax_rank_metrics._ground.inputs.items import per_list as per_list
from jax_rank_metrics._ground.inputs.items import profiles as profiles
from jax_rank_metrics._ground.inputs.items import read_segments as read_segments
from jax_rank_metrics._ground.inputs.items import relevant_items as relevant_items
from jax_rank_metrics._ground.inputs.items import repeated as repeated
from jax_rank_metrics._ground.inputs.items import weights_for as weights_for
from jax_rank_metrics._ground.inputs.items import whole_numbers as whole_numbers
from jax_rank_metrics._ground.inputs.items import without_lists as without_lists
from jax_rank_metrics._ground.inputs.libraries import as_frame as as_frame
from jax_rank_metrics._ground.inputs.libraries import by_ids as by_ids
from jax_rank_metrics._ground.inputs.libraries import by_items as by_items
from jax_rank_metrics._ground.inputs.libraries import (
    by_items_of_rows as by_items_of_rows,
)
from jax_rank_metrics._ground.inputs.libraries import frames_among as frames_among
from jax_rank_metrics._ground.inputs.libraries import has_item_ids as has_item_ids
from jax_rank_metrics._ground.inputs.libraries import hashable_ids as hashable_ids
from jax_rank_metrics._ground.inputs.libraries import is_frame as is_frame
from jax_rank_metrics._ground.inputs.libraries import is_missing as is_missing
from jax_rank_metrics._ground.inputs.libraries import is_pandas_frame as is_pandas_frame
from jax_rank_metrics._ground.inputs.libraries import is_series as is_series
from jax_rank_metrics._ground.inputs.libraries import is_sparse as is_sparse
from jax_rank_metrics._ground.inputs.libraries import key_of_ids as key_of_ids
from jax_rank_metrics._ground.inputs.libraries import keys_of as keys_of
from jax_rank_metrics._ground.inputs.libraries import list_columns as list_columns
from jax_rank_metrics._ground.inputs.libraries import lookup_keys as lookup_keys
from jax_rank_metrics._ground.inputs.libraries import named as named
from jax_rank_metrics._ground.inputs.libraries import parts_of_tasks as parts_of_tasks
from jax_rank_metrics._ground.inputs.libraries import (
    read_labelled as read_labelled,
)
from jax_rank_metrics._ground.inputs.libraries import refuse_masked as refuse_masked
from jax_rank_metrics._ground.inputs.libraries import refuse_missing as refuse_missing
from jax_rank_metrics._ground.inputs.libraries import (
    refuse_other_order as refuse_other_order,
)
from jax_rank_metrics._ground.inputs.libraries import same_index as same_index
from jax_rank_metrics._ground.inputs.list_ids import (
    check_weights as check_weights,
)
from jax_rank_metrics._ground.inputs.list_ids import list_ids as list_ids
from jax_rank_metrics._ground.inputs.list_ids import (
    weights_of_lists as weights_of_lists,
)
from jax_rank_metrics._ground.inputs.options import MAX_FLOAT32 as MAX_FLOAT32
from jax_rank_metrics._ground.inputs.options import MAX_INT32 as MAX_INT32
from jax_rank_metrics._ground.inputs.options import axis_names as axis_names
from jax_rank_metrics._ground.inputs.options import check_undefined as check_undefined
from jax_rank_metrics._ground.inputs.options import cutoffs as cutoffs
from jax_rank_metrics._ground.inputs.options import cuts as cuts
from jax_rank_metrics._ground.inputs.options import deepest as deepest
from jax_rank_metrics._ground.inputs.options import flag as flag
from jax_rank_metrics._ground.inputs.options import fraction as fraction
from jax_rank_metrics._ground.inputs.options import group_shares as group_shares
from jax_rank_metrics._ground.inputs.options import index as index
from jax_rank_metrics._ground.inputs.options import is_integer as is_integer
from jax_rank_metrics._ground.inputs.options import is_scalar_number as is_scalar_number
from jax_rank_metrics._ground.inputs.options import not_negative as not_negative
from jax_rank_metrics._ground.inputs.options import open_fraction as open_fraction
from jax_rank_metrics._ground.inputs.options import option as option
from jax_rank_metrics._ground.inputs.options import positive as positive
from jax_rank_metrics._ground.inputs.options import positive_integer as positive_integer
from jax_rank_metrics._ground.inputs.options import prng_key as prng_key
from jax_rank_metrics._ground.inputs.options import rank_cutoffs as rank_cutoffs
from jax_rank_metrics._ground.inputs.padding import next_size as next_size
from jax_rank_metrics._ground.inputs.padding import padded_ids as padded_ids
from jax_rank_metrics._ground.inputs.padding import ragged_lists as ragged_lists
from jax_rank_metrics._ground.inputs.padding import refuse_rows as refuse_rows
