"""Messages, types, arithmetic and readers of arguments, which all other folders use.

    choices.py        the choices of options that the command and functions share
    messages.py       short messages, and warnings that point at the caller's line
    optional.py       optional libraries, imported when a function first needs them
    one_off.py        programs that run once, compiled quickly
    pytrees.py        classes that are pytrees
    loops.py          results of loops that cannot be differentiated in reverse
    shares.py         `jrm.share`: a cutoff that is a share of the list
    types.py          the types of arrays and options in public signatures
    meshes.py         collectives over device meshes, and how arrays vary and are sharded
    shards.py         functions that run shard by shard
    arithmetic.py     sums, counts and ratios along the items of lists
    gains.py          gains and discounts
    group_amounts.py  how unequal groups are, from the amount that each group got
    inputs/           checks and conversions of the arguments that callers pass

Every other folder may import these modules, and they import no other folder.
"""
