"""Names of metrics: what they say, and what is known of a metric by its name.

A name is a text such as "ndcg(gain_fn=linear_gain)@10", typed by a caller or written over
a result. Texts come in; words, options and facts go out, which tables, comparisons and
files read as well as the functions that measure. No metric is called here: `jrm.metric`
tells what others have to know of it.

Files, each of which imports only those before it:

    trec.py         measures, families and sets of trec_eval
    facts.py        the registry: direction, kind of mean and options of each name
    cutoff_names.py names of the values at several cutoffs
    grammar.py      reads the options and cutoffs of a name, and answers unknown names
    directions.py   whether lower values are better, and remarks where they are
"""
