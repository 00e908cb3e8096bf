"""Layouts of the items of lists in arrays, and reductions over each list.

A formula never names an axis: a `Ranking` reduces, scans and broadcasts through these
classes. A new layout defines these operations; soft places alone ask for `Packed` by name.

    base.py     the protocols `PoolLayout` and `RankedLayout`: what a pool, and what ranked
                items, must be able to do
    rows.py     lists as rows: `Rows`; for pools also `Sharded` over devices, and
                `CountedSlots` for many equal items each, of which `CatalogSlots` has one
                for all items that are not listed
    packed.py   `Packed`: lists one after the other along one flat axis
"""
