"""Layouts of the items of lists in arrays, and reductions over each list.

A formula never names an axis: a `Ranking` reduces, scans and broadcasts through these
classes, so that a new layout has to define these operations and nothing else.

    base.py     the protocols: what a pool, and what ranked items, must be able to do
    rows.py     lists as rows: whole, cut over devices, or of slots for many items each
    packed.py   lists one after the other along one flat axis
"""
