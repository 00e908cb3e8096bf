"""Values of systems: read into records, paired, and over several training seeds.

Whatever callers hold comes in; records of NumPy arrays and their differences go out.

list_values.py  the values of one metric for every list, in NumPy
seeds.py        scores of training seeds, their interquartile means and wins
reading.py      jrm.Systems and jrm.Seeds: records of systems, tasks and metrics, read from
                all input
differences.py  jrm.paired, and the differences of two systems in every list
prediction_powered.py  jrm.prediction_powered: lists of people among those of a judge
"""
