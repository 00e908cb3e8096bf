"""The statistical core: a mean over lists, how sure it is, and whether it may be chance.

Arrays come in; means, errors and p go out. Each number comes from one function:

    values, weights [lists, columns]    differences of two systems, or values of one
          │                             (clusters: their means, as if they were lists)
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

    MarginBounds ── the same means, with what unseen lists may add: margins and the gate

A state that merges holds sums, and no list can be left out of a sum. If weights differ, its
error, which tables show too (`_values.moments`), therefore lacks the factor for heavy
lists.

Only `resample.py` draws resamples and swaps, in blocks; leaderboards draw errors of means
with NumPy (`comparisons/standings.py`):

    permutation   systems change places in each list: flipped signs of two, orders of
                  several (Tukey), values and weights of two ratios; all patterns if few
    bootstrap     lists are drawn anew, and the seeds of each side; each resample is
                  divided by its own error

weighted_means.py  the weighted mean of lists, its error over lists and seeds; ratios
margin_bounds.py   bounds for a margin, which hold even if few lists differ or lose much
p_values.py        Student's t, McNemar's exact test, corrections for many comparisons
resample.py        resamples of lists and seeds, random swaps and orders, their counts
randomised.py      randomisation tests: sign flips, all pairs, Tukey's, swaps of ratios
judges.py          means from few labels of people and many of a judge
studentised.py     the studentised bootstrap, over lists and seeds, and of judged lists
bootstrap.py       jrm.bootstrap: a state of resampled means, which merges as `Mean` does
"""
