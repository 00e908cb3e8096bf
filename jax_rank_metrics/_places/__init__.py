"""Where an item stands: the whole theory of ties.

A *place* is two integers: `above`, how many items rank strictly before an item's tie
group, and `tied`, how many share its key, itself included. The item holds one of the
ranks above + 1 … above + tied, each equally likely. Under a definite order `tied` is 1.

Formulas average what a rank is worth over the ranks of a place, which are known at trace
time; nothing that is data is averaged over a group.

A soft place, for training, is one rank that is a real number: `tied` is 1, and `above` a
sum of how surely every other item is above.

    place.py   what a formula sees of a place, and sums over its ranks
    groups.py  the places of items in order, from runs of equal keys
    soft.py    real ranks for training, one for each item
    first.py   the first item that stops a user, by counting, and a cascade of chances
"""
