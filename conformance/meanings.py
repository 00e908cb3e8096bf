"""What each choice means, whether it is published, a convention or a mistake, and where from.

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
# Where each metric has no value of its own, and the option `undefined` decides.
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
threshold | relevant | convention | grades below 1 gain nothing | no single source
threshold | at-least | published | relevant from the parameter rel on | TREC
threshold | above | mistake | relevant above the parameter rel: > for >= | no single source
threshold | above-zero | convention | relevant above 0, whatever rel is | no single source
discount | log2 | published | 1 / log2(1 + rank) | Burges et al., ICML 2005
discount | ln | convention | 1 / ln(1 + rank) | no single source
discount | jk2002 | published | 1 up to rank 2, then 1 / log2(rank) | Jarvelin and Kekalainen, TOIS 2002
discount | reciprocal | convention | 1 / rank | no single source
discount | log10 | mistake | 1 / log10(1 + rank) | no single source
discount | shifted | mistake | 1 / log2(2 + rank): ranks from 1 taken for ranks from 0 | no single source
ideal | judged | published | the best order of all that was judged, cut at k | Jarvelin and Kekalainen, TOIS 2002
ideal | full | convention | k documents of the highest grade, though fewer were judged; without k, no value | no single source
ideal | returned | mistake | the best order of what was returned | no single source
ideal | uncut | mistake | the best order of all that was judged, not cut at k | no single source
ideal | greedy | published | the order that gains most at each rank | Clarke et al., SIGIR 2008
ideal | best | published | the order of the highest sum | Clarke et al., SIGIR 2008
denominator | relevant | published | all relevant documents; in bpref for both divisors | TREC; Buckley and Voorhees, SIGIR 2004
denominator | attainable | published | the lesser of k and all relevant documents; without k, what was returned is k | Liang et al., WWW 2018
denominator | hits | convention | relevant documents up to k | no single source
denominator | k | published | k; without k, what was returned | TREC
denominator | retrieved | published | the lesser of k and what was returned | van Rijsbergen, Information Retrieval, 1979
denominator | least | published | the lesser of relevant and other judged documents | TREC
denominator | returned | mistake | relevant documents that were returned | no single source
denominator | fewest | mistake | the lesser of k, or of what was returned, and all relevant documents | no single source
worth | exp2 | published | (2^grade - 1) / 2^max_grade | Chapelle et al., CIKM 2009
worth | linear | convention | grade / max_grade | no single source
worth | binary | published | 1 where relevant | Moffat and Zobel, TOIS 2008
worth | graded | published | grade / max_grade | Moffat and Zobel, TOIS 2008
worth | raw | mistake | the grade, so that a value can exceed 1 | no single source
worth | unscaled | mistake | 2^grade - 1, not divided by 2^max_grade | no single source
worth | full | mistake | (2^grade - 1) / (2^max_grade - 1), so that the best is certain | no single source
max_grade | list | mistake | the highest grade of the list | no single source
beyond | clipped | convention | a grade above max_grade counts as max_grade | no single source
beyond | error | convention | a grade above max_grade is refused | no single source
depth | returned | published | pairs of documents that were returned | Hanley and McNeil, Radiology 1982
depth | pool | convention | what was judged and not returned ties below all else | no single source
depth | extrapolated | published | equation 32 | Webber et al., TOIS 2010
depth | seen | convention | the sum over the ranks of the longer list | no single source
ranks | zero | mistake | the first has the rank 0, and a gain there no value | no single source
ranks | two | mistake | the first has the rank 2 | no single source
factor | missing | mistake | the sum without the factor 1 - p | no single source
first | highest | mistake | the rank of the first document of the highest returned grade | no single source
ties | expected | published | the mean over all orders of tied documents | McSherry and Najork, ECIR 2008
ties | id-desc | published | the last id first, by UTF-8 bytes | Cabanac et al., CLEF 2010
ties | id-asc | convention | the first id first, by UTF-8 bytes | no single source
ties | input | convention | in the order of the input | no single source
ties | input-reversed | convention | against the order of the input | no single source
ties | worst | convention | the order of the least value | no single source
ties | shared | published | the rank of all is the first one, and agreement is twice the overlap over both sizes | Webber et al., TOIS 2010
ties | best | mistake | the order of the largest value | no single source
duplicates | error | convention | a repeated id is refused | no single source
duplicates | first | convention | a later one keeps its rank and is worth nothing | no single source
duplicates | removed | convention | a later one leaves the list, and others move up | no single source
duplicates | last | convention | the last score in the input counts, as in a dict | no single source
duplicates | counted | mistake | each counts | no single source
unjudged | zero | published | not relevant, but in bpref as if not returned | TREC
unjudged | removed | published | as if not returned | Sakai, SIGIR 2007
negative | removed | convention | as if neither returned nor judged | no single source
negative | zero | convention | judged, with the grade 0 | no single source
negative | unjudged | convention | as if it had not been judged | no single source
negative | error | convention | refused | no single source
negative | counted | mistake | a negative gain | no single source
undefined | zero | published | 0 | TREC
undefined | one | convention | 1 | no single source
undefined | skip | convention | no value; left out of means | no single source
nan | nan | convention | no value | no single source
nan | error | convention | refused | no single source
nan | last | convention | below all other scores, and tied | no single source
nan | first | convention | above all other scores, and tied | no single source
infinite | ranked | convention | as any other score | no single source
infinite | unretrieved | convention | what has -inf was not returned | no single source
infinite | error | convention | refused | no single source
scores | float64 | convention | compared as float64 | no single source
scores | float32 | convention | rounded to float32 first | no single source
scores | positive | mistake | only what has a score above 0 can be relevant | no single source
order | input | mistake | in the order of the input, whatever the scores | no single source
order | ascending | mistake | the lowest score first | no single source
zeros | signed | mistake | -0 below 0 | no single source
queries | judged | published | all that were judged; what the run lacks is an empty list | TREC
queries | both | published | those that were judged and for which the run has a document | TREC
queries | listed | convention | those that were judged and are in the run, if only without documents | no single source
queries | run | convention | all of the run; where nothing was judged, undefined | no single source
mean | lists | published | every list weighs the same | TREC
mean | pooled | convention | the sum of hits over the sum of denominators | no single source
mean | batches | mistake | the mean of the means of two lists each | no single source
""")
