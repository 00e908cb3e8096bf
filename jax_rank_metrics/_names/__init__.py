"""Names of metrics: how they are read, and facts about a metric by its name.

A name is a text such as "ndcg(gain_fn=linear_gain)@10", typed by a caller or written over
a result. The functions here take such texts and return words, options and facts, for
functions that measure and for tables, comparisons and files. No metric is called here:
`jrm.metric` registers the facts.

Each file imports only files before it:

    trec.py         measures, families and sets of trec_eval
    facts.py        the registry: direction, kind of mean and options of each name
    cutoff_names.py names of the values at several cutoffs
    grammar.py      reads the options and cutoffs of a name; gives advice on unknown names
    directions.py   the direction in which values are better, and remarks on zeros
"""
