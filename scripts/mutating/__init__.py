"""The mutants of `scripts/mutants.py`, by the part of the package that they break."""
