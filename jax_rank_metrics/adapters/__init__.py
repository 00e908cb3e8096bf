"""The metrics in the loops of other frameworks, with a module for each.

    nnx.py           an `nnx.Metric`, for train and evaluation steps of Flax
    clu.py           a `clu.metrics.Metric`, for a `Collection`
    keras.py         a Keras metric, for `compile`, `fit` and `evaluate`
    transformers.py  a `compute_metrics`, for the `Trainer` of Hugging Face
    sklearn.py       a scorer, for `cross_val_score`, `GridSearchCV` and similar tools
    tensorboard.py   states as scalars of a `SummaryWriter`
    _flax.py         registers states with `flax.serialization`, for nnx and clu
    _loop.py         the metrics of a loop: metrics of lists, and metrics of all items
    _shared.py       imports a framework, and reads the batches of its loops

Each of these ranks a batch once for all of its metrics. It keeps states instead of means,
so there are also standard errors and counts, and results can be merged. Other modules
replace evaluators of whole runs, and keep the names and rules of these evaluators:

    pytrec_eval.py   the `RelevanceEvaluator` that MTEB, BEIR and others call
    ogb.py           the evaluator of OGB's link prediction
    ir_measures.py   a provider of the measures of ir_measures
    sentence_transformers.py   an `InformationRetrievalEvaluator` with intervals
    _retrieval.py    reads the scores that PyTorch computes, chunk by chunk, for the latter

A module raises `ModuleNotFoundError` if its framework is missing; the extra "frameworks"
installs all frameworks. `import jax_rank_metrics` does not import these modules. Importing
`nnx` or `clu` also lets `flax.serialization` save states anywhere in a pytree.
"""
