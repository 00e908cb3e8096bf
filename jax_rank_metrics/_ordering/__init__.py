"""The only place that sorts: scores in, items in rank order out.

Scores become *keys*: integers that compare as the items must be ranked, larger first.
Where keys are equal, a policy may add a *break*, another integer; what is equal in both
stands in index order. Two ways read them and give the same order:

- `sort`: a full sort of the integers;
- `top_k`: `lax.top_k` of a *digit*, the key as a float32, which is the one type that it
  is fast for. It leaves ties in index order and cannot tell −inf, NaN and what does not
  exist apart; where that matters, and only there, a second top-k settles it.

`lax.top_k` must see device-local data: XLA gathers every score of a sharded operand.
Where the items of a list are cut over devices, each device ranks its own, and then the
candidates of all devices are ranked together; a catalogue does the same block by block.

    keys.py       scores as keys, keys as digits, what breaks ties
    candidates.py items on their way to a rank
    top_k.py      the best few: exact, and quick in long lists
    sort.py       full order by several keys; sort_cpu.py the same by 64-bit integers
    order.py      chooses, and looks after devices
    ideal.py      values in falling order
    packed.py     lists one after the other in flat arrays
    streaming.py  the best so far, block after block
    matching.py   the same ids in two lists
"""
