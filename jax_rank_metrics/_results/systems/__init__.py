"""Per-list values of systems: read, paired, and over several training seeds.

values.py       per-list values of this package and of other tools, read into NumPy
paired.py       jrm.paired: the difference of two systems, list by list
differences.py  the difference of two systems in every list
direction.py    the direction in which a metric is better
pairing.py      pairs systems, and their lists by ids
seed_scores.py  what the mean scores of seeds say: interquartile means, wins of runs
seeds.py        jrm.Seeds: several training seeds in place of a system's values
systems.py      the values of one metric, of one system or of many
"""
