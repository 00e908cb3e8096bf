"""The statistical core: a mean over lists, how sure it is, and whether it may be chance.

Functions agree about the same data, since each number comes from one place:

    values, weights [lists, columns]        differences of two systems, or values of one
          │                                 (clusters: their means, as if they were lists)
          ▼
    WeightedMean ── share, residuals, n_eff = (Σw)²/Σw², freedom = n_eff − 1
          │
          ├─ changes      the mean's fall as each list is left out (jackknife)
          ├─ deviations   √(freedom/n_eff) · changes: their squares sum to the squared
          │               error, their products to the covariance of systems
          ▼
    Summary ── mean, error (HC3; Student's for equal weights), freedom, effect, n_eff
                 seeds:   their variance is added, less the list–seed interaction
                 ratios:  of different weights, the difference of two jackknives
                 judge:   few lists of people and many of a judge, whose deviations add
          │
          ├─ compare         student_p, student_reach; or a test by random draws, below
          ├─ leaderboard     the deviations of all systems, drawn together
          └─ power           the error at other numbers of lists

A state that merges holds sums, from which no list can be left out. Its error, which tables
show too (`_states.uncertainty`, `_states.on_host`), is the same where weights are equal;
where they differ, it lacks the factor of heavy lists.

Random draws are made in blocks by `draws.py` alone, and compared with thresholds there:

    permutation   systems change places in each list: flipped signs of two, orders of
                  several (Tukey), values and weights of two ratios; all patterns if few
    bootstrap     lists are drawn anew, and the seeds of each side; each resample is
                  divided by its own error

means.py         the weighted mean of lists, its error over lists and seeds; ratios
p_values.py      Student's t, McNemar's exact test, corrections for many comparisons
draws.py         resamples of lists and seeds, random swaps and orders, and their counts
permutations.py  sign flips, the largest t, all pairs of systems, Tukey's test
ratio_swaps.py   the permutation test of ratios that weigh the lists differently
studentised.py   the studentised bootstrap, over lists and seeds
prediction_powered.py   the result of jrm.prediction_powered
judged_lists.py         means from few labels of people and many of a judge
judged_bootstrap.py     the studentised bootstrap of these
bootstrap.py     jrm.bootstrap: a state of resampled means, which merges as `Mean` does
question.py      the options of a comparison
"""
