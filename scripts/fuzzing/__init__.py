"""Draws calls of the package, and compares them with plain loops; see `scripts/fuzz.py`.

`case` is a drawn call, `draws` draws it, `sources` and `drivers` turn it into code and into
lists, `loops` measures these lists in float64, and `shrink` makes it small.
"""
