"""Checks on the host: of values that are probably not intended, and of other programs.

    check.py        `jrm.check`: which arguments belong together, those of drivers too. It
                    reads them, raises on values that no caller can intend, and hands lists
                    over to the remarks. It imports what files and drivers return, which
                    import the remarks
    remarks.py      the remarks: one function for each common mistake
    conformance.py  `jrm.testing.conformance`: which definition of a metric a function
                    follows

Everything here runs on the host, in NumPy, on concrete arrays. Calls of metrics never
look at values in this way, since inside `jax.jit` they cannot.
"""
