"""The metrics in the loops of other frameworks, with a module for each.

    nnx.py           an `nnx.Metric`, for train and evaluation steps of Flax
    clu.py           a `clu.metrics.Metric`, for a `Collection`
    keras.py         a Keras metric, for `compile`, `fit` and `evaluate`
    transformers.py  a `compute_metrics`, for the `Trainer` of Hugging Face
    sklearn.py       a scorer, for `cross_val_score`, `GridSearchCV` and similar tools
    tensorboard.py   states as scalars of a `SummaryWriter`
    _flax.py         registers states with `flax.serialization`, for nnx and clu
    _loop.py         the metrics of a loop, of lists and of all items
    _shared.py       imports a framework, and reads the batches of its loops

Each ranks a batch once for all of its metrics, and keeps the states: so beside the means
there are standard errors and counts, and results merge. Others take the place of evaluators
that read whole runs, under their own names and rules:

    pytrec_eval.py   the `RelevanceEvaluator` that MTEB, BEIR and others call
    ogb.py           the evaluator of OGB's link prediction
    ir_measures.py   a provider of the measures of ir_measures
    sentence_transformers.py   an `InformationRetrievalEvaluator` with intervals
    _retrieval.py    keeps what that needs of scores that PyTorch computes by chunks

A module needs its framework, and raises `ModuleNotFoundError` where that is missing; the
extra "frameworks" has them all. `import jax_rank_metrics` imports none of them. Importing
`nnx` or `clu` also lets `flax.serialization` save states, wherever they are in a pytree.
"""
