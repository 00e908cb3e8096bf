"""The ways to make a `Ranking`.

rank.py       jrm.rank: its arguments, and where they lead
lists.py      these arguments once they are checked
rows.py       lists as rows, whole or with their items cut over devices
packed.py     lists one after the other
retrieved.py  jrm.rank_retrieved: in rank order already
ids.py        jrm.rank_ids: the same as ids
catalog.py    jrm.rank_catalog: many items, few of them relevant
scores.py     jrm.rank_scores: the same of scores that exist
blocks.py     the scores of a catalogue, a block at a time
streams.py    the two ways through the blocks: the best few, or counting
"""
