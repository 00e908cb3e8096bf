"""States that need an order, or the places of items.

    exposure.py        how often each item was shown: counts by item, and their Gini index
    group_exposure.py  what groups of items got: sums by group
    pooled.py          items of all lists, in one list: counts by bin of their scores

They merge as all states do; `_values` says how.
"""
