"""The ways to make a `Ranking`.

rank.py       `jrm.rank`, which decides between rows, packed lists and soft places
list_arguments.py  the arguments of `rank`: declared once, and checked
lists.py      parts of several sources: relevant items by id, weights
rows.py       lists as rows, whole or with their items cut over devices
few_relevant.py  long rows with few relevant items, which a CPU counts
packed.py     lists one after the other
soft.py       lists whose items have soft places, for training
retrieved.py  `jrm.rank_retrieved` and `jrm.rank_ids`: lists in rank order already
places.py     `jrm.rank_places`: judged items whose places were counted elsewhere
catalog.py    `jrm.rank_catalog` and `jrm.rank_scores`: many items, few relevant ones
checked_catalog.py  their checked arguments
sharded_catalog.py  catalogues that types say are sharded, which each device ranks a part of
attributes.py  `jrm.by_attributes`: labels that a function derives from attributes
labelled.py   catalogues with such labels: as rows, or streamed in blocks
census.py     which labels the items of a catalogue have, and how many items each
item_groups.py  memberships of the items of a catalogue, and their totals
seen.py       the relevant items in the blocks so far, and totals of all items
blocks.py     a catalogue, and its scores in blocks
similarities.py  scores by product, cosine, distance, differing bits, or a function
host_blocks.py  items that the host reads one part after the other
streams.py    the two ways through the blocks: the first ranks, or counting places
"""
