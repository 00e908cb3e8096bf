"""Mutants of files, the command and adapters."""

from mutating.mutant import Mutant

MUTANTS = (
    Mutant(
        "documents with a relevance below 0 stay in condensed lists",
        "_files/join.py",
        "sides.is_retrieved & (relevance >= 0)",
        "sides.is_retrieved & (relevance >= -9)",
        "tests/test_joined.py::test_condensed_lists_are_those_of_judged_documents",
    ),
    Mutant(
        "scores of files in single precision",
        "_files/packed.py",
        "pl.Series(retrieved.values + 0.0)",
        "pl.Series((retrieved.values + 0.0).astype(np.float32))",
        "tests/test_files.py::test_join",
    ),
    Mutant(
        "a document beyond the depth is counted",
        "_files/places.py",
        "is_kept[rows[above < depth]] = True",
        "is_kept[rows[above <= depth]] = True",
        "tests/test_joined.py::test_places_are_those_of_loops",
    ),
    Mutant(
        "scores of dicts compared as doubles under trec_eval's rules",
        "_files/join.py",
        "sides = sides.with_float32_scores()",
        "pass",
        "tests/peers/test_pytrec_eval.py::test_every_measure_of_every_query",
    ),
    Mutant(
        "unjudged documents stay in runs that are to lose them",
        "_files/join.py",
        "    if condensed:",
        "    if False:",
        "tests/peers/test_ir_measures_provider.py::test_pytrec_eval",
    ),
    Mutant(
        "ranks of MS MARCO read as scores",
        "_files/frames.py",
        "return 0.0 - numbers",
        "return 0.0 + numbers",
        "tests/test_file_formats.py::test_files_of_ms_marco",
    ),
    Mutant(
        "a line off",
        "_files/text.py",
        'io.BytesIO(b"\\n" + data)',
        "io.BytesIO(data)",
        "tests/test_errors.py::test_bad_calls[errors.files: no JSON]",
    ),
    Mutant(
        "the least relevant level of trec_eval is not read",
        "adapters/pytrec_eval.py",
        "level = None if relevance_level == 1 else relevance_level",
        "level = None",
        "tests/peers/test_pytrec_eval.py::test_families_and_levels",
    ),
    Mutant(
        "every retrieved document counts as judged",
        "_formulas/counts.py",
        "num_judged = ranking.expected_sum(is_judged, positions(), ks)",
        "pass",
        "tests/peers/test_ir_measures_provider.py::test_judged",
    ),
    Mutant(
        "list weights of keras_rs from all items",
        "compat.py",
        "items.weights * relevance",
        "items.weights",
        "tests/peers/test_keras_rs.py::test_weights_with_its_list_weights",
    ),
    Mutant(
        "the merit of groups does not count",
        "_formulas/exposure_parity.py",
        "by_merit = ratio(exposed, merits[..., None, :])",
        "by_merit = exposed",
        "tests/peers/test_fairranktune.py::test_against_fairranktune",
    ),
)
