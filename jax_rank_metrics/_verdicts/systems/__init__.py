"""Values of systems: read into records, paired, and over several training seeds.

Values come in, in every form that callers may pass; records of NumPy arrays and their
differences go out.

list_values.py  the values of one metric for every list, in NumPy
seeds.py        scores of training seeds, their interquartile means and wins
reading.py      jrm.Systems and jrm.Seeds: reads any input into records of systems, tasks
                and metrics
differences.py  jrm.paired, and the differences of two systems in every list
prediction_powered.py  jrm.prediction_powered: joins people's lists to a judge's by ids
"""
