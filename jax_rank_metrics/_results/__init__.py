"""What is made of values and states: comparisons, resampling.

paired.py      jrm.paired: the difference of two systems, list by list
bootstrap.py   jrm.bootstrap: a state that holds resampled means, and merges as `Mean`
compare.py     jrm.compare: how large a difference is, and whether it may be chance
pairing.py     which lists of two systems belong together, and what each brings
chance.py      what chance would do: signs that flip, resampled lists, Student's t; Holm

A difference is always b − a: above 0, b is better. `paired` and `bootstrap` are arrays
and sums, for `jax.jit`, many batches and many hosts. `compare` is for the end, where all
values are in one place: it runs as it is called, in double precision but for resampling,
and its results are Python numbers.
"""
