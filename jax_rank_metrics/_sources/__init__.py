"""The ways to make a `Ranking`.

rank.py       jrm.rank: its arguments, and where they lead
lists.py      arguments once they are checked
rows.py       lists as rows, whole or with their items cut over devices
packed.py     lists one after the other
retrieved.py  jrm.rank_retrieved, jrm.rank_ids: in rank order already
catalog.py    jrm.rank_catalog, jrm.rank_scores: many items, few of them relevant
blocks.py     the scores of a catalogue, a block at a time
streams.py    the two ways through the blocks: the best few, or counting
"""
