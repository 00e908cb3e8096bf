"""The statistical core: means over lists, their errors, and tests against chance.

Arrays come in; means, errors and p go out. Each number is computed by one function:

    values, weights [lists, columns]    differences of two systems, or values of one
          │                             (clusters: their means, as if they were lists)
          ▼
    WeightedMean ── share, residuals, n_eff = (Σw)²/Σw², freedom = n_eff − 1
          │
          ├─ changes      the mean's fall as each list is left out (jackknife)
          ├─ deviations   √(freedom/n_eff) · changes: their squares sum to the squared
          │               error, and their products sum to the covariance of systems
          ▼
    Summary ── mean, error (HC3; Student's for equal weights), freedom, effect, n_eff
                 seeds:   adds their variance, and subtracts the list–seed interaction
                 ratios:  if weights differ, takes the difference of two jackknives
                 judge:   adds deviations of people's few lists and a judge's many lists
          │
          ├─ compare         student_p, student_reach; or a test by random draws, below
          ├─ leaderboard     the deviations of all systems, drawn together
          └─ power           the error at other numbers of lists

    MarginBounds ── the same means, with what unseen lists may add: margins and the gate

A state that merges holds sums, and no list can be left out of a sum. If weights differ,
the error of a state (`_values.moments`), which tables also show, therefore lacks the
factor for heavy lists.

All resamples and swaps are drawn by `resample.py`, in blocks. Only leaderboards draw
with NumPy: errors of means (`comparisons/standings.py`):

    permutation   systems are exchanged in each list: signs of two systems are flipped,
                  several are permuted (Tukey), two ratios swap values and weights; all
                  patterns are tried if there are few
    bootstrap     lists are drawn anew, and so are the seeds of each system; each
                  resample is divided by its own standard error

weighted_means.py  the weighted mean of lists, its error over lists and seeds; ratios
margin_bounds.py   bounds for a margin, which hold even if few lists differ or lose much
p_values.py        Student's t, McNemar's exact test, corrections for many comparisons
resample.py        random draws: resamples of lists and seeds, swaps, permutations
randomised.py      randomisation tests: sign flips, all pairs, Tukey's, swaps of ratios
judges.py          means from few lists labelled by people and many labelled by a judge
studentised.py     the studentised bootstrap, over lists and seeds, and with a judge
bootstrap.py       jrm.bootstrap: a state of resampled means, which merges as `Mean` does
"""
