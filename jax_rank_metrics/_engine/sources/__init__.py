"""The ways to make a `Ranking`.

Dense lists have a score for every item. Few items of a catalogue are relevant:

    jrm.rank, metrics ──► ScoredLists ──► read_lists ─┬─ segment_ids ──► _rank_packed
                                                      ├─ relax ────────► _rank_softly
                               the type says sharded: ├─ few_relevant ─► rank_few ──┐
                               each of these by shard └─ else ────────► _rank_rows  │
                                                                                    │
    rank_catalog, rank_scores ──► Catalog ─┬─ ids ──► rank_listed ◄─────────────────┘
                                           └─ labels ► rank_labelled
    Stream, block by block ──► StreamState  keys of the relevant items, totals of all items,
                                            the first ranks if the catalogue has a depth
    then `first_ranks`; or, without a depth, a second pass of the stream, which counts what
    ranks above each relevant item, and `places`; drivers make both of one first pass

Two routes count places although the caller asked for ranks: `few_relevant`, for long lists
on one CPU, outside `jax.jit`, because it looks at the labels; and `_is_counting_faster`
(catalog.py), for a k inside a program, few relevant ids and one block. If metrics read
more than places, `UnknownPlaceError` makes both rank. `jrm.rank_places` takes places that
a caller counted, and `Stream.places` takes the places that a stream counted.

    rank.py       `jrm.rank`; lists as rows, whole or with their items cut over devices,
                  packed lists, and soft places, for training
    list_arguments.py  the arguments of `rank`: declared once, and checked
    lists.py      parts of several sources: ties, relevant items by id, weights
    few_relevant.py  long rows with few relevant items, which a CPU counts
    retrieved.py  `jrm.rank_retrieved` and `jrm.rank_ids`: lists already in rank order
    places.py     `jrm.rank_places`: judged items whose places were counted elsewhere
    catalog.py    `jrm.rank_catalog` and `jrm.rank_scores`: many items, few relevant ones
    attributes.py  `jrm.by_attributes`: labels that a function derives from attributes
    labelled_catalog.py  catalogues with such labels: as rows, or streamed in blocks
    item_columns.py  columns of a catalogue's items, looked up by id, and their totals
    blocks.py     a catalogue, its scores in blocks, and its parts on devices
    similarities.py  scores by product, cosine, distance, differing bits, late
                  interaction, or a function
    tokens.py     `jrm.Tokens`, and tokens on the host
    host_blocks.py  items that the host reads one part after the other
    streams.py    the two ways through the blocks: the first ranks, or counting places
"""
