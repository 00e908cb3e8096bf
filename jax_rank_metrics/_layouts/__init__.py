"""Layouts of the items of lists in arrays, and reductions over each list.

A formula never names an axis: a `Ranking` reduces, scans and broadcasts through these
classes, so that a new layout has to define these operations and nothing else.

    base.py     the protocols: what a pool, and what ranked items, must be able to do
    rows.py     lists as rows
    packed.py   lists one after the other along one flat axis
    pools.py    pools cut over devices, or in which one slot stands for many items
"""
