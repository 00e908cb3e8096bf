"""A recommender for all its users: what evaluates one batch, over all of them.

    interactions.py  what users have seen and liked, as sparse rows, checked
    batches.py       which users go together, and their rows padded to few widths
    step.py          one batch on the device: ranked once, read by every metric
    model.py         what gives the scores of users: embeddings, a matrix, a function
    found.py         what `evaluate_users` gives, and how it comes together
    users.py         `jrm.evaluate_users`: the loop over batches

Users go through in an order of their own, so that those with long lists of ids share
batches and all others need not be padded to their width. What comes back to the host of
a batch is a value per user and metric, and the ids of what was recommended.
"""
