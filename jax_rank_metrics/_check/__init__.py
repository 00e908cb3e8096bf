"""Checks of values that are probably not intended, and of other programs.

    check.py        `jrm.check`: reads lists, or results of `join` and drivers, raises on
                    values that no caller can intend, and passes lists to the remarks of
                    `_values/remarks.py`
    conformance.py  `jrm.testing.conformance`: which definition of a metric a function
                    follows

Everything here runs on the host, in NumPy, on concrete arrays. Metrics themselves never
look at values in this way, because inside `jax.jit` they cannot.
"""
