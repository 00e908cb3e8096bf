"""States: what is kept of the lists seen so far, so that more can be added.

A metric has one value per list (`PerList`), and its mean over all lists is asked for:
of batches that come one after the other, on devices that each see some. So a batch is
summed up as a `Mean`, which holds nothing but sums and counts:

    sum_w, sum_wv               Σ w and Σ w·v, whose ratio is the mean
    sum_w2, sum_w2v, sum_w2v2   Σ w², Σ w²·v and Σ w²·v², for its standard error
    lists, undefined            how many lists entered, how many had no value

Merging two states adds them, so the mean does not depend on how the lists were cut, and
`merge(a, b)` has the bits of `merge(b, a)`. Two things could spoil such sums:

- *Drift.* After ten million additions a float has lost most of its digits. Every sum is
  therefore a `FloatPair` of floats, which has twice the digits of one.
- *Cancellation.* Σ w²·(v − mean)² is a small difference of large sums of squares. So
  products of weights and values are pairs too, and are added as such.

Other kinds of states merge in the same way, leaf by leaf: sums of floats and counts add,
and of other floats the largest stays. So has a `GeometricMean` the sums of logarithms, and
a `Histogram` counts by bin, and the smallest and the largest value.

`pairs` has the arithmetic of pairs, `moments` the sums of a batch, `state` what every
state can do, and what a new kind must have. `mean`, `geometric` and `histogram` are kinds
of states, `intervals` those of a mean, `per_list` the values that they are made of,
`merging` what is done with many states at once, held in any pytree, `show` their text.
"""
