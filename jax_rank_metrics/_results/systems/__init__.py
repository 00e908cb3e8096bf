"""Values of systems: read into records, paired, and over several training seeds.

values.py       the values of one metric for every list, in NumPy
systems.py      jrm.Systems: records of systems, tasks and metrics, read from all input
paired.py       jrm.paired: the difference of two systems, list by list
differences.py  the difference of two systems in every list
judged.py       finds the lists of people among those of a judge
prediction_powered.py   jrm.prediction_powered; means from labels of both
direction.py    the direction in which a metric is better
pairing.py      pairs systems, and their lists by ids
seed_scores.py  what the mean scores of seeds say: interquartile means, wins of runs
seeds.py        jrm.Seeds: several training seeds in place of a system's values
"""
