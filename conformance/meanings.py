"""The meaning, status (published, convention or mistake) and source of each choice.

Sources are publications. Programs are not named, since files that are frozen cannot follow
their versions; the page "Check your numbers" has them.
"""

# Groups that come after the first release raise the revision, and are dated.
ABOUT = {
    "license": "Apache-2.0",
    "url": "https://pypi.org/project/jax-rank-metrics/",
    "revision": 1,
    "date": "2026-11-28",
    "errata": [],
}

TITLES = {
    "lists": "One list each: ids, grades and finite scores.",
    "scores": "One list each: scores that JSON cannot say, as strings.",
    "means": "Means over several lists.",
}
# Conditions under which a metric has no value, so that the option `undefined` decides.
_NOTHING_RELEVANT = "where nothing that was judged is relevant"
UNDEFINED = dict.fromkeys(
    ("ap", "rr", "recall", "precision", "hit_rate", "r_precision", "bpref"),
    _NOTHING_RELEVANT,
) | {
    "ndcg": "where nothing that was judged has a gain",
    "dcg": "nowhere: it is 0 where nothing has a gain",
    "err": "where nothing that was judged has a grade above 0",
    "rbp": f"{_NOTHING_RELEVANT}, or for worth: graded has a grade above 0",
    "auc": f"{_NOTHING_RELEVANT}, and where relevant or other documents are missing",
    "alpha_ndcg": "where nothing that was judged has a subtopic",
    "rbo": "where a ranking is empty",
}


def _read(text: str) -> dict[tuple[str, str], list[str]]:
    meanings = {}
    for line in text.strip().splitlines():
        option, choice, status, meaning, source = (x.strip() for x in line.split("|"))
        meanings[option, choice] = [status, meaning, source]
    return meanings


# option | choice | status | meaning | source
MEANINGS = _read("""
gain | exp2 | published | 2^grade - 1 | Burges et al., ICML 2005
gain | linear | published | the grade | Jarvelin and Kekalainen, TOIS 2002
threshold | none | published | every grade above 0 gains | Jarvelin and Kekalainen, TOIS 2002
threshold | relevant | convention | grades below 1 gain nothing | none
threshold | at-least | published | relevant from the parameter rel on | TREC
threshold | above | mistake | relevant above the parameter rel: > for >= | none
threshold | hits | mistake | rel counts the relevant; hits are from 1 on | none
threshold | equal | mistake | relevant at the parameter rel alone | none
threshold | above-zero | convention | relevant above 0, whatever rel is | none
discount | log2 | published | 1 / log2(1 + rank) | Burges et al., ICML 2005
discount | ln | convention | 1 / ln(1 + rank) | none
discount | jk2002 | published | 1 up to rank 2, then 1 / log2(rank) | Jarvelin and Kekalainen, TOIS 2002
discount | reciprocal | convention | 1 / rank | none
discount | log10 | mistake | 1 / log10(1 + rank) | none
discount | shifted | mistake | 1 / log2(2 + rank): ranks from 1 taken for ranks from 0 | none
ideal | judged | published | the best order of all that was judged, cut at k | Jarvelin and Kekalainen, TOIS 2002
ideal | full | convention | k documents of the highest grade, though fewer were judged; without k, no value | none
ideal | returned | mistake | the best order of what was returned | none
ideal | uncut | mistake | the best order of all that was judged, not cut at k | none
ideal | greedy | published | the order that gains most at each rank | Clarke et al., SIGIR 2008
ideal | best | published | the order of the highest sum | Clarke et al., SIGIR 2008
denominator | relevant | published | all relevant documents; in bpref for both divisors | TREC; Buckley and Voorhees, SIGIR 2004
denominator | attainable | published | the lesser of k and all relevant documents; without k, what was returned is k | Liang et al., WWW 2018
denominator | hits | convention | relevant documents up to k | none
denominator | k | published | k; without k, what was returned | TREC
denominator | retrieved | published | the lesser of k and what was returned | van Rijsbergen, Information Retrieval, 1979
denominator | least | published | the lesser of relevant and other judged documents | TREC
denominator | returned | mistake | relevant documents that were returned | none
denominator | fewest | mistake | the lesser of k, or of what was returned, and all relevant documents | none
worth | exp2 | published | (2^grade - 1) / 2^max_grade | Chapelle et al., CIKM 2009
worth | linear | convention | grade / max_grade | none
worth | binary | published | 1 where relevant | Moffat and Zobel, TOIS 2008
worth | graded | published | grade / max_grade | Moffat and Zobel, TOIS 2008
worth | raw | mistake | the grade, so that a value can exceed 1 | none
worth | unscaled | mistake | 2^grade - 1, not divided by 2^max_grade | none
worth | full | mistake | (2^grade - 1) / (2^max_grade - 1), so that the best is certain | none
max_grade | list | mistake | the highest grade of the list | none
beyond | clipped | convention | a grade above max_grade counts as max_grade | none
beyond | error | convention | a grade above max_grade is refused | none
beyond | counted | mistake | a grade above max_grade counts as it is | none
depth | returned | published | pairs of documents that were returned | Hanley and McNeil, Radiology 1982
depth | pool | convention | what was judged and not returned ties below all else | none
depth | extrapolated | published | equation 32 | Webber et al., TOIS 2010
depth | seen | convention | the sum over the ranks of the longer list | none
ranks | zero | mistake | the first has the rank 0, and a gain there no value | none
ranks | two | mistake | the first has the rank 2 | none
ranks | log2 | mistake | 1 / log2(1 + rank) for 1 / rank | none
chances | last | mistake | only the document before can stop | none
k | ignored | mistake | the whole list, whatever k is | none
k | ideal | mistake | k cuts the ideal order alone | none
p | ignored | mistake | weights of p = 0.8, whatever p is | none
factor | missing | mistake | the sum without the factor 1 - p | none
factor | shares | mistake | over the sum of the weights up to k, for 1 - p | none
first | highest | mistake | the rank of the first document of the highest returned grade | none
ties | expected | published | the mean over all orders of tied documents | McSherry and Najork, ECIR 2008
ties | id-desc | published | the last id first, by UTF-8 bytes | Cabanac et al., CLEF 2010
ties | id-asc | convention | the first id first, by UTF-8 bytes | none
ties | input | convention | in the order of the input | none
ties | input-reversed | convention | against the order of the input | none
ties | worst | convention | the order of the least value | none
ties | shared | published | the rank of all is the first one, and agreement is twice the overlap over both sizes | Webber et al., TOIS 2010
ties | best | mistake | the order of the largest value | none
duplicates | error | convention | a repeated id is refused | none
duplicates | first | convention | a later one keeps its rank and is worth nothing | none
duplicates | removed | convention | a later one leaves the list, and others move up | none
duplicates | last | convention | the last score in the input counts, as in a dict | none
duplicates | counted | mistake | each counts | none
unjudged | zero | published | not relevant, but in bpref as if not returned | TREC
unjudged | removed | published | as if not returned | Sakai, SIGIR 2007
negative | removed | convention | as if neither returned nor judged | none
negative | zero | convention | judged, with the grade 0 | none
negative | unjudged | convention | as if it had not been judged | none
negative | error | convention | refused | none
negative | counted | mistake | a negative gain | none
undefined | zero | published | 0 | TREC
undefined | one | convention | 1 | none
undefined | skip | convention | no value; left out of means | none
nan | nan | convention | no value | none
nan | error | convention | refused | none
nan | last | convention | below all other scores, and tied | none
nan | first | convention | above all other scores, and tied | none
infinite | ranked | convention | as any other score | none
infinite | unretrieved | convention | what has -inf was not returned | none
infinite | error | convention | refused | none
scores | float64 | convention | compared as float64 | none
scores | float32 | convention | rounded to float32 first | none
scores | positive | mistake | only what has a score above 0 can be relevant | none
order | input | mistake | in the order of the input, whatever the scores | none
order | ascending | mistake | the lowest score first | none
zeros | signed | mistake | -0 below 0 | none
queries | judged | published | all that were judged; what the run lacks is an empty list | TREC
queries | both | published | those that were judged and for which the run has a document | TREC
queries | listed | convention | those that were judged and are in the run, if only without documents | none
queries | run | convention | all of the run; where nothing was judged, undefined | none
mean | lists | published | every list weighs the same | TREC
mean | pooled | convention | the sum of hits over the sum of denominators | none
mean | batches | mistake | the mean of the means of two lists each | none
""")
