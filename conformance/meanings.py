"""What each choice means, whether it is published, a convention or a mistake, and whose."""

TITLES = {
    "lists": "One list each: ids, grades and finite scores.",
    "scores": "One list each: scores that JSON cannot say, as strings.",
    "means": "Means over several lists.",
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
threshold | relevant | convention | grades below 1 gain nothing | ranx, pytorch-ignite
threshold | at-least | published | relevant from the parameter rel on | trec_eval
threshold | above-zero | convention | relevant above 0, whatever rel is | LightGBM, metrax
discount | log2 | published | 1 / log2(1 + rank) | Burges et al., ICML 2005; trec_eval
discount | ln | convention | 1 / ln(1 + rank) | recommenders
discount | jk2002 | published | 1 up to rank 2, then 1 / log2(rank) | Jarvelin and Kekalainen, TOIS 2002; LensKit
discount | reciprocal | convention | 1 / rank | CatBoost denominator=Position
discount | shifted | mistake | 1 / log2(2 + rank): ranks from 1 taken for ranks from 0 | no single source
ideal | judged | published | the best order of all that was judged, cut at k | trec_eval
ideal | full | convention | k documents of the highest grade; none without k | RecTools, SDCG
ideal | returned | mistake | the best order of what was returned | mlflow
ideal | uncut | mistake | the best order of all that was judged, not cut at k | no single source
ideal | greedy | published | the order that gains most at each rank | Clarke et al., SIGIR 2008
ideal | best | published | the order of the highest sum | Clarke et al., SIGIR 2008
denominator | relevant | published | all relevant documents; in bpref for both divisors | trec_eval; Buckley and Voorhees, SIGIR 2004
denominator | attainable | published | the lesser of k and all relevant documents; without k, what was returned is k | Liang et al., WWW 2018
denominator | hits | convention | relevant documents up to k | torchmetrics
denominator | k | published | k; without k, what was returned | trec_eval
denominator | retrieved | published | the lesser of k and what was returned | keras_rs, rax
denominator | least | published | the lesser of relevant and other judged documents | trec_eval
denominator | returned | mistake | relevant documents that were returned | no single source
denominator | fewest | mistake | the lesser of k, or of what was returned, and all relevant documents | implicit
worth | exp2 | published | (2^grade - 1) / 2^max_grade | Chapelle et al., CIKM 2009
worth | linear | convention | grade / max_grade | CatBoost
worth | binary | published | 1 where relevant | Moffat and Zobel, TOIS 2008
worth | graded | published | grade / max_grade | Moffat and Zobel, TOIS 2008
worth | raw | mistake | the grade, so that a value can exceed 1 | ranx
max_grade | list | mistake | the highest grade of the list | no single source
beyond | clipped | convention | a grade above max_grade counts as max_grade | jax_rank_metrics
beyond | error | convention | a grade above max_grade is refused | gdeval
depth | returned | published | pairs of documents that were returned | scikit-learn
depth | pool | convention | what was judged and not returned ties below all else | no single source
depth | extrapolated | published | equation 32 | Webber et al., TOIS 2010
depth | seen | convention | the sum over the ranks of the longer list | no single source
first | highest | mistake | the rank of the first document of the highest returned grade | metrax
ties | expected | published | the mean over all orders of tied documents | McSherry and Najork, ECIR 2008
ties | id-desc | published | the last id first, by UTF-8 bytes | trec_eval
ties | id-asc | convention | the first id first, by UTF-8 bytes | MS MARCO
ties | input | convention | in the order of the input | XGBoost, LightGBM, rax
ties | input-reversed | convention | against the order of the input | no single source
ties | worst | convention | the order of the least value | CatBoost
ties | best | mistake | the order of the largest value | no single source
duplicates | error | convention | a repeated id is refused | trec_eval
duplicates | first | convention | a later one keeps its rank and is worth nothing | jax_rank_metrics
duplicates | removed | convention | a later one leaves the list, and others move up | jax_rank_metrics
duplicates | last | convention | the last score in the input counts, as in a dict | pytrec_eval
duplicates | counted | mistake | each counts | recommenders, LensKit, llama-index
unjudged | zero | published | not relevant, but in bpref as if not returned | trec_eval
unjudged | removed | published | as if not returned | Sakai, SIGIR 2007; trec_eval -J
negative | removed | convention | as if neither returned nor judged | keras_rs, TF-Ranking
negative | zero | convention | judged, with the grade 0 | no single source
negative | unjudged | convention | as if it had not been judged | trec_eval
negative | error | convention | refused | scikit-learn
negative | counted | mistake | a negative gain | haystack, rax
undefined | zero | published | 0 | trec_eval
undefined | one | convention | 1 | XGBoost, LightGBM
undefined | skip | convention | no value; left out of means | torchmetrics
nan | nan | convention | no value | jax_rank_metrics
nan | error | convention | refused | scikit-learn
nan | last | convention | below all other scores, and tied | NumPy
nan | first | convention | above all other scores, and tied | torch.topk
infinite | ranked | convention | as any other score | trec_eval
infinite | unretrieved | convention | what has -inf was not returned | rax
infinite | error | convention | refused | scikit-learn
scores | float64 | convention | compared as float64 | trec_eval 10
scores | float32 | convention | rounded to float32 first | pytrec_eval
scores | positive | mistake | only what has a score above 0 can be relevant | torchmetrics
order | input | mistake | in the order of the input, whatever the scores | no single source
order | ascending | mistake | the lowest score first | no single source
zeros | signed | mistake | -0 below 0 | lax.top_k
queries | judged | published | all that were judged; what the run lacks is an empty list | trec_eval -c
queries | both | published | those that were judged and for which the run has a document | trec_eval
queries | listed | convention | those that were judged and are in the run, if only without documents | no single source
queries | run | convention | all of the run; where nothing was judged, undefined | no single source
mean | lists | published | every list weighs the same | trec_eval
mean | pooled | convention | the sum of hits over the sum of denominators | implicit
mean | batches | mistake | the mean of the means of two lists each | no single source
""")
