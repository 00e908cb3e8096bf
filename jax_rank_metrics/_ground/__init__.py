"""Messages, types, arithmetic and readers of arguments, on which all rooms stand.

    choices.py        the choices of options that the command shares with functions
    messages.py       short messages, which spell arguments as the caller does
    optional.py       optional libraries, imported when a function first needs them
    one_off.py        programs that run once, compiled quickly
    pytrees.py        classes that are pytrees
    loops.py          results of loops, through which no gradient goes back
    shares.py         `jrm.share`: a cutoff that is a share of the list
    types.py          the types of arrays and options in public signatures
    meshes.py         collectives over device meshes, and how arrays vary over their axes
    shards.py         functions that run shard by shard
    arithmetic.py     sums, counts and ratios along the items of lists
    gains.py          gains and discounts
    group_amounts.py  how unequal groups are, from what each group got
    inputs/           checks what callers pass, and converts it to one form

Every other room may import these modules, and they import no other room.
"""
