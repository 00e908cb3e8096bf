"""States: small summaries of the lists seen so far, to which more lists can be added.

A metric has one value per list (`PerList`), but users ask for its mean over all lists,
which arrive batch after batch and on many devices. So each batch is summarised as a `Mean`,
which holds only sums and counts of weights w and values v:

    sum_w, sum_wv               Σ w and Σ w·v, whose ratio is the mean
    sum_w2, sum_w2v, sum_w2v2   Σ w², Σ w²·v and Σ w²·v², for its standard error
    sum_w_fractional            Σ w of the values that are neither 0 nor 1; if it is 0, the
                                mean is a proportion
    lists, undefined            how many lists entered, and how many had no value

Merging adds two states, so the mean does not depend on how the lists were split, and
`merge(a, b)` is `merge(b, a)` bit for bit. Two things could spoil such sums:

- *Drift.* After ten million additions a float has lost most of its digits. Every sum is
  therefore a `FloatPair`: two floats, with twice the digits of one.
- *Cancellation.* Σ w²·(v − mean)² is a small difference of large sums of squares. So
  products of weights and values are pairs too, and are added as such.

Other kinds of states merge in the same way, leaf by leaf: sums and counts add, and other
floats are maxima (a smallest value is held with its sign turned). A `GeometricMean` holds
the sums of logarithms, and a `Histogram` counts by bin. States that need an order or places
of items are in `_engine.states`.

Files; each imports only files that are listed before it:

- `list_arrays.py`: the values and weights of lists, their shapes, the values and weights of
  undefined lists, and a check for equal weights.
- `double_floats.py`: arithmetic of pairs, sums by group, and how leaves merge.
- `state.py`: the base class, the parts of a new kind of state, and states as text.
- `intervals.py`: confidence intervals and their quantiles.
- `moments.py`: the sums of a batch, and mean, standard error and interval from them.
- `mean.py`, `histogram.py`: kinds of states; `clusters.py`: lists joined.
- `per_list.py`: the values of lists, and the results that users compute from them.
- `on_host.py`: the same numbers in NumPy, for tables.
- `merging.py`: operations on many states at once, held in any pytree or by name.
- `remarks.py`: remarks on probable mistakes in labels, scores and ids, in NumPy.
"""
