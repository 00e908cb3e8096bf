"""The ways to make a `Ranking`.

The *place* of an item is two numbers: how many items rank above its tie group, and how
many items the group holds. Places can be counted without sorting.

Dense lists have a score for every item. Few items of a catalogue are relevant:

    jrm.rank, metrics ──► ScoredLists ──► read_lists ─┬─ segment_ids ──► _rank_packed
                                                      ├─ relax ────────► _rank_softly
                      if types of arrays are sharded, ├─ few_relevant ─► rank_few ──┐
                      each of these runs per shard    └─ else ────────► _rank_rows  │
                                                                                    │
    rank_catalog, rank_scores ──► Catalog ─┬─ ids ──► rank_listed ◄─────────────────┘
                                           └─ labels ► rank_labelled
    Stream, block by block ──► StreamState  keys of the relevant items, totals of all items,
                                            the first ranks if the catalogue has a depth
    Then `first_ranks` makes the ranking. Without a depth, a second pass of the stream
    counts the items that rank above each relevant item, and `places` makes the ranking.
    Drivers make both rankings after one first pass.

Two routes count places although the caller asked for ranks: `few_relevant`, for long lists
on one CPU, outside `jax.jit`, because it reads the labels; and `_is_counting_faster`
(catalog.py), for a k inside a program, few relevant ids and one block. If a metric needs
more than these places, it raises `UnknownPlaceError`, and both routes sort after all.
`jrm.rank_places` takes places that a caller counted, and `Stream.places` takes the places
that a stream counted.

    rank.py       `jrm.rank`; lists as rows, whole or with their items sharded over devices,
                  packed lists, and soft places, for training
    list_arguments.py  the arguments of `rank`: declared once, and checked
    lists.py      steps that sources share: ties, relevant items by id, weights
    few_relevant.py  long rows with few relevant items, whose places a CPU counts
    retrieved.py  `jrm.rank_retrieved` and `jrm.rank_ids`: lists already in rank order
    places.py     `jrm.rank_places`: judged items whose places were counted elsewhere
    catalog.py    `jrm.rank_catalog` and `jrm.rank_scores`: many items, few relevant ones
    attributes.py  `jrm.by_attributes`: labels that a function derives from attributes
    labelled_catalog.py  catalogues with such labels: as rows, or streamed in blocks
    item_columns.py  columns of a catalogue's items, looked up by id, and their totals
    blocks.py     a catalogue, its scores in blocks, and its shards on devices
    similarities.py  scores by product, cosine, distance, differing bits, late
                  interaction, or a function
    tokens.py     `jrm.Tokens`, and tokens on the host
    host_blocks.py  items that the host reads in parts, one after the other
    streams.py    the two ways through the blocks: the first ranks, or counting places
"""
