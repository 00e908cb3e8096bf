"""Mutants of tables, frames, plots and names of results, and of refusals of files."""

from mutating.mutant import Mutant

MUTANTS = (
    Mutant(
        "letters that stand only in one cell of a pair",
        "_verdicts/tables/table.py",
        'is_mutual = comparison.alternative == "two-sided"',
        "is_mutual = False",
        "tests/test_exports.py::test_letters_of_pairs",
    ),
    Mutant(
        "the best of means before they are printed",
        "_verdicts/tables/table.py",
        "best[metric] = sheets.fixed_point(extreme, digits)",
        "best[metric] = sheets.fixed_point(extreme, digits + 2)",
        "tests/test_table.py::test_the_best",
    ),
    Mutant(
        "undefined lists in frames as 0",
        "_verdicts/tables/to_frame.py",
        "np.where(lists.defined, lists.values, np.nan)",
        "np.where(lists.defined, lists.values, 0)",
        "tests/test_frames.py::test_lists",
    ),
    Mutant(
        "legends that may lie inside the axes",
        "_verdicts/plots/drawing.py",
        'figure.set_layout_engine("constrained")',
        "pass",
        "tests/test_plots.py::test_legends_stand_outside_the_axes",
    ),
    Mutant(
        "full markers where no interval is known",
        "_verdicts/plots/mean_plots.py",
        'hollow = {"ls": "", "mfc": ax.get_facecolor()}',
        'hollow = {"ls": ""}',
        "tests/test_plots.py::test_markers_are_hollow_where_nothing_is_known",
    ),
    Mutant(
        "a difference whose better side is the other one",
        "_verdicts/plots/list_plots.py",
        'first_wins = heights > 0 if direction and word == "better" else heights < 0',
        "first_wins = heights < 0",
        "tests/test_plots.py::test_what_figures_show",
    ),
    Mutant(
        "a closed pipe is an error of the user",
        "cli.py",
        "isinstance(error, BrokenPipeError)",
        "isinstance(error, ZeroDivisionError)",
        "tests/test_cli.py::test_a_process_from_its_first_import_to_a_closed_pipe",
    ),
    Mutant(
        "ranks that count from 0",
        "_runs/files/frames.py",
        "(numbers < first_rank)",
        "(numbers < 0)",
        "tests/test_errors.py::test_bad_calls[errors.files: a rank of 0]",
    ),
    Mutant(
        "scores of NaN in files",
        "_runs/files/frames.py",
        'is_bad = numbers.is_nan() if value == "score" else ~numbers.is_finite()',
        "is_bad = numbers.is_null()",
        "tests/test_errors.py::test_bad_calls[errors.files: NaN]",
    ),
    Mutant(
        "unknown names without a suggestion",
        "_names/grammar.py",
        "n=3, cutoff=0.6",
        "n=3, cutoff=0.99",
        "tests/test_errors.py::test_bad_calls[errors.calls: unknown metric]",
    ),
)
