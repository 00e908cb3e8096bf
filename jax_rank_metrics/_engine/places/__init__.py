"""Places of items: the whole theory of ties.

A *place* is two whole numbers: `above`, the number of items that rank strictly before an
item's tie group, and `tied`, the number of items in the group, the item included. The item
has one of the ranks above + 1 … above + tied, each equally likely. In a definite order,
`tied` is 1.

Formulas average a function of ranks over the ranks of a place. The values of the function
are known while tracing. Data is never averaged over a tie group.

A soft place, for training, is one rank that is a real number: `tied` is 1, and `above` adds
up a number from 0 to 1 for each other item, which tells how surely that item is above.

    place.py       places as formulas see them, and sums of a function over their ranks
    tie_groups.py  the tie groups of items in rank order, from runs of equal keys, or, if
                   there are few items, by comparing all pairs
    few_ranks_cpu.py  the comparison of all pairs on CPU, with the bits of integers
    repeats.py     places whose value falls with each item of the same kind above
    soft_places.py  real ranks for training, one for each item
    first_stop.py  the first item that stops a user, by counting
    cascade.py     the first stop of a user whom each item stops by chance
    hit_counts.py  the chance that the first ranks hold a given number of relevant items
    by_value.py    the places of items ranked by a value, and counts of smaller values
"""
