"""The metrics in the loops of other frameworks: a module for each.

    nnx            an `nnx.Metric` for train and evaluation steps of Flax
    clu            a `clu.metrics.Metric` for a `Collection`
    keras          a Keras metric for `compile`, `fit` and `evaluate`
    transformers   a `compute_metrics` for the `Trainer` of Hugging Face
    sklearn        a scorer for `cross_val_score`, `GridSearchCV` and their kin
    tensorboard    states as scalars of a `SummaryWriter`

All rank a batch once for all of their metrics, and keep the states: so beside the means
there are standard errors, counts, and merging. A module needs its framework, and raises
a `ModuleNotFoundError` where that is missing; the extra "frameworks" has them all. None is
imported by `import jax_rank_metrics`.
"""
