"""`evaluate_users`: a recommender evaluated for all of its users, in batches.

    interactions.py     the items that users have seen or like, checked, as sparse rows
    batches.py          which users share a batch, and their ids padded to few widths
    model.py            the scores of users: from embeddings, a matrix, or a function
    step.py             one batch on the device: ranked once, read by every metric
    user_evaluation.py  the result, and how it is collected on the host
    progress.py         batches started ahead of those waited for, and reports
    evaluate_users.py   `jrm.evaluate_users`: the loop over batches

Batches do not follow the order of users: users with many ids share batches, so that the
others need not be padded to their width. Of each batch only the value of each metric per
user and the ids of the recommended items come back to the host.
"""
