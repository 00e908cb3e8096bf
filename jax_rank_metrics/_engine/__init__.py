"""From labels and scores to the value of every list; its interface is `Ranking`.

In the order of the data:

    items.py          labels, weights and columns of items, and which items exist
    by_options.py     functions with options, equal by value, so that metrics share work
    while_tracing.py  constants, computed while another program is traced
    ordering/         puts items in rank order; nothing else sorts
    layouts/          how items lie in memory: rows, packed lists, sharded lists
    places/           the ranks that an item may have: the theory of ties
    ranking/          the methods that formulas call: `expected_sum`, totals and others
    sources/          the functions that make a `Ranking`
    states/           states that need places or an order: pooled scores, exposure
    metrics/          `jrm.metric` and the registry: formulas that can be called
    formulas/         one short function per metric
    calls/            many metrics in one call, and the names and signatures of metrics

Each imports only from entries above it. Values of lists, and the states that sum these
values, are in `_values`.
"""
