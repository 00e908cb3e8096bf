"""Orders items by score, or counts the items above a few; no other package sorts items.

Scores become *keys*: integers in the order of the scores, so larger keys rank first. For
items with equal keys, a tie policy may add a *tie-break*, another integer. Items with equal
keys and equal tie-breaks are in index order. Two ways of ordering give the same result:

- `sort`: a full sort of the integers;
- `top_k`: `lax.top_k` of a *digit*, which is the key as a float32, because `lax.top_k` is
  fast for this type alone. Ties stay in index order; if the tie policy wants another order,
  a second top-k or a full sort follows. On CPU, the top-k compares keys as integers, and
  needs no digits.

NaN and missing items need digits of their own. So the two least float32 above 0 share a key
and tie, and so do the two greatest float32 below 0. NaN has the largest key, whatever its
sign, so that the first item of a list tells if any score is NaN.

`lax.top_k` must see device-local data, because XLA gathers every score of a sharded array.
If the items of a list are sharded, each device ranks its own items, and then the first
items of all devices are ranked together. `streaming.py` does the same with blocks of items.

    keys.py         scores as keys, and keys as digits
    policies.py     tie policies
    candidates.py   items ready to be ranked, and how they compare
    sort.py         full order by several keys
    sort_cpu.py     the full order on CPU, by 64-bit integers
    top_k.py        the largest few floats, fast in long lists; on CPU, integers
    order.py        the first ranks by one of these, exact, and over devices
    ideal.py        values in descending order
    packed_order.py lists one after the other in flat arrays, by a sort
    streaming.py    the best items so far, block after block
    outranking.py   the number of items above a few targets, without ordering all items
    outranking_cpu.py  these numbers on CPU, in parts or by a sort
    matching.py     the ranks of the same ids in two lists
    order_on_host.py  orders, and places among sorted scores, by NumPy
"""
