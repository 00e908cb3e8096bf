"""Layouts of the items of lists in arrays, and reductions over each list.

A formula never names an axis: a `Ranking` reduces, scans and broadcasts through these
classes. A new layout defines these operations; only soft places ask for `Packed` by name.

    base.py     the protocols `PoolLayout` and `RankedLayout`: the operations of a pool, and
                of ranked items
    rows.py     lists as rows: `Rows`; for pools also `Sharded`, over devices;
                `CountedSlots`, in which a slot stands for many equal items; and
                `CatalogSlots`, with one slot for all items that are not listed
    packed.py   `Packed`: lists one after the other along one flat axis
"""
