"""States: small summaries of lists, to which more lists can be added.

A metric has one value per list (`PerList`), but users ask for its mean over all lists,
which arrive batch after batch and on many devices. So each batch is summarised as a
`Mean`, which contains only counts, and sums of weights w and values v:

    sum_w, sum_wv               Σ w and Σ w·v, whose ratio is the mean
    sum_w2, sum_w2v, sum_w2v2   Σ w², Σ w²·v and Σ w²·v², for its standard error
    sum_w_fractional            Σ w of the values that are neither 0 nor 1; if it is 0, the
                                mean is a proportion
    lists, undefined            how many lists entered, and for how many the metric is
                                undefined

Merging two states adds their sums and counts, so the mean does not depend on how the
lists were split, and `merge(a, b)` equals `merge(b, a)` bit for bit. Two things could
make such sums inaccurate:

- *Drift.* After ten million additions a float has lost most of its digits. Every sum is
  therefore a `FloatPair`: two floats, with twice the digits of one.
- *Cancellation.* Σ w²·(v − mean)² is a small difference of large sums of squares. So
  products of weights and values are also pairs, and are added as pairs.

Other kinds of states merge in the same way, leaf by leaf: sums and counts are added,
and of other floats the maximum is taken (a smallest value is stored with the opposite
sign). A `GeometricMean` contains sums of logarithms, and a `Histogram` counts the lists
in each bin. States that need the order or the ranks of items are in `_engine.states`.

Files; a file imports only files that are listed before it:

- `list_arrays.py`: the values and weights of lists, their shapes, how undefined lists
  are counted, and a check for equal weights.
- `double_floats.py`: arithmetic of pairs, sums by group, and how leaves merge.
- `state.py`: the base class of all kinds of states, and states as text.
- `intervals.py`: confidence intervals and their quantiles.
- `moments.py`: the sums of a batch, and mean, standard error and interval from them.
- `mean.py`, `histogram.py`: kinds of states; `clusters.py`: joins lists to clusters.
- `per_list.py`: the values of lists, and the results that users compute from them.
- `on_host.py`: means and intervals in NumPy, for tables.
- `merging.py`: operations on many states at once, in any pytree or in a dict of names.
- `remarks.py`: remarks on probable mistakes in labels, scores and ids, in NumPy.
"""
