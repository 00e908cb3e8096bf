"""The metrics in the loops of other frameworks, with a module for each.

    nnx            an `nnx.Metric`, for train and evaluation steps of Flax
    clu            a `clu.metrics.Metric`, for a `Collection`
    keras          a Keras metric, for `compile`, `fit` and `evaluate`
    transformers   a `compute_metrics`, for the `Trainer` of Hugging Face
    sklearn        a scorer, for `cross_val_score`, `GridSearchCV` and similar tools
    tensorboard    states as scalars of a `SummaryWriter`

Each ranks a batch once for all of its metrics, and keeps the states: so beside the means
there are standard errors and counts, and results merge. A module needs its framework, and
raises `ModuleNotFoundError` where that is missing; the extra "frameworks" has them all.
`import jax_rank_metrics` imports none of them. Importing `nnx` or `clu` also lets
`flax.serialization` save states, wherever they are in a pytree.
"""
