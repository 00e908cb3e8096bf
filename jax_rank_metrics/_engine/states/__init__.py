"""States that need an order, or the places of items.

    exposure.py        how often each item was shown: counts by item, and their Gini index
    group_exposure.py  how much exposure groups of items got: sums by group
    pooled.py          all items of all lists as one list: counts by bin of their scores

They merge as all states do; `_values` says how.
"""
