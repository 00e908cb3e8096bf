"""Resampling, tests and errors, on the arrays of many comparisons at once.

resampling.py   draws of lists that do not depend on batches, and sums over them
bootstrap.py    jrm.bootstrap: a state of resampled means, which merges as `Mean` does
sign_flips.py   Fisher's randomisation test, and its largest t of several comparisons
pair_flips.py   sign flips of all pairs of many systems
tukey.py        the randomised Tukey test of all pairs of several systems
mcnemar.py      McNemar's exact test of values of 0 and 1
weighted_mean.py  the weighted mean of lists, its error and its degrees of freedom
ratios.py       differences of ratios that weigh the lists differently, and their test
chance.py       Student's t and the studentised bootstrap
two_way.py      errors and resamples of means over lists and seeds
corrections.py  corrections of p values: Holm, Benjamini–Hochberg
question.py     the options of a comparison
"""
