"""The ways to make a `Ranking`.

Dense lists have a score for every item. Of a catalogue, few items are relevant, and scores
may be made block by block:

    jrm.rank, measure ──► ScoredLists ──► read_lists ─┬─ segment_ids ──► rank_packed
                                                      ├─ relax ────────► rank_softly
                               the type says sharded: ├─ few_relevant ─► rank_few ──┐
                               each of these by shard └─ else ────────► _rank_rows  │
                                                                                    │
    rank_catalog, rank_scores ──► Catalog ──► rank_blocks ─┬─ ids ──► rank_listed ◄─┘
                                                           └─ labels ► rank_labelled
    Stream, block by block ──► Seen       keys of the relevant items, totals of all items
                           ──► Census     labels and how many items have each, if labelled
                           ──► BestSoFar  the first ranks, if the catalogue has a depth
    then `first_ranks`; or, without a depth, a second pass of the stream, which counts what
    ranks above each item in `Seen`, and `places`; `rank_both` makes both of one first pass

`rank_listed` ranks or counts by whether `catalog.depth` is None. `rank_labelled` ranks the
items of one block by `jrm.rank`, and streams more of them.

Two routes count places where ranks were asked for. `few_relevant` is for long lists on one
CPU, outside of `jax.jit`, since it looks at the labels; `read_lists` tries it.
`_may_count` (catalog.py) is for a k inside a program, with one relevant id in each list, or
up to four where scores are few, and one block; `measure_ranking` (`_metrics`) tries it.
Neither knows whether places are all that metrics read: where they need more,
`UnknownPlaceError` makes both rank.

Three things are called places. `jrm.rank_places` takes numbers that a caller counted,
`Stream.places` makes a ranking of those that a stream counted, and the package `_places`
is the theory of ties, from which formulas read any of them.

    rank.py       `jrm.rank`; lists as rows, whole or with their items cut over devices
    list_arguments.py  the arguments of `rank`: declared once, and checked
    lists.py      parts of several sources: relevant items by id, weights
    few_relevant.py  long rows with few relevant items, which a CPU counts
    packed.py     lists one after the other
    soft.py       lists whose items have soft places, for training
    retrieved.py  `jrm.rank_retrieved` and `jrm.rank_ids`: lists in rank order already
    places.py     `jrm.rank_places`: judged items whose places were counted elsewhere
    catalog.py    `jrm.rank_catalog` and `jrm.rank_scores`: many items, few relevant ones
    checked_catalog.py  their checked arguments
    sharded_catalog.py  catalogues sharded by type, which each device ranks a part of
    attributes.py  `jrm.by_attributes`: labels that a function derives from attributes
    labelled.py   catalogues with such labels: as rows, or streamed in blocks
    census.py     which labels the items of a catalogue have, and how many items each
    item_groups.py  memberships of the items of a catalogue, and their totals
    seen.py       the relevant items in the blocks so far, and totals of all items
    blocks.py     a catalogue, and its scores in blocks
    similarities.py  scores by product, cosine, distance, differing bits, or a function
    products.py   products of vectors, equal for equal items
    tokens.py     `jrm.Tokens`, and their scores by late interaction
    host_blocks.py  items that the host reads one part after the other
    token_items.py  items with tokens, which the host groups by their lengths
    streams.py    the two ways through the blocks: the first ranks, or counting places
"""
