"""Places of items: the whole theory of ties.

A *place* holds two whole numbers: `above`, how many items rank strictly before an item's
tie group, and `tied`, how many items share its key, itself included. The item holds one of
the ranks above + 1 … above + tied, each equally likely. In a definite order, `tied` is 1.

Formulas average a function of ranks over the ranks of a place. The values of the function
are known while tracing. Data is never averaged over a tie group.

A soft place, for training, is one rank that is a real number: `tied` is 1, and `above` is
the sum, over all other items, of how surely each of them is above.

    place.py       places as formulas see them, and sums of a function over their ranks
    tie_groups.py  the tie groups of items in rank order, from runs of equal keys, or, of
                   a few items, by comparing all pairs
    few_ranks_cpu.py  the latter on CPU, from the bits of integers
    repeats.py     places that are worth less for each item of the same kind above
    soft_places.py  real ranks for training, one for each item
    first_stop.py  the first item that stops a user, by counting
    cascade.py     the first stop of a user whom each item stops by chance
    hit_counts.py  the chance that the first ranks hold a given number of relevant items
    by_value.py    the places of items by a value, and counts of smaller values
"""
