"""How the items of lists lie in arrays, and how to reduce over a list.

A formula never names an axis: a `Ranking` reduces, gathers and spreads through these
classes, so that each layout only has to know those three.

    base.py     what a pool and what ranked items must be able to do
    rows.py     lists as rows
    packed.py   lists one after the other along one flat axis
    pools.py    pools of which a device sees its part, or in which one item stands for many
"""
