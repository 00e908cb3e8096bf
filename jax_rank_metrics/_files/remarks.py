"""Remarks of `join`: judgements and runs that are legal, but probably not intended."""

import unicodedata

import numpy as np

from jax_rank_metrics._check.remarks import colliding_scores
from jax_rank_metrics._files.lists import Sides

_SHOWN = 2  # documents of each side that a remark names
_LEAST_JUDGED = 0.01  # of the retrieved documents: fewer are judged if ids never match


def remarks_on_join(sides: Sides) -> list[str]:
    """Returns remarks on lists, ids that never match, and scores that collide.

    Args:
        sides: Judgements and the whole run, of any depth and with unjudged documents.
    """
    remarks = [*sides.remarks, *_unmatched_ids(sides)]
    if sides.collides is not None and sides.collides.any():
        first = sides.query_ids[int(np.argmax(sides.collides))]
        remarks.append(
            colliding_scores(
                f"{np.count_nonzero(sides.collides)} of {len(sides.query_ids)} queries, "
                f"such as {first!r}",
                "float64",
                "write smaller integers, or leave the rules of trec_eval",
            )
        )
    return remarks + _ids_that_print_alike(sides)


def _ids_that_print_alike(sides: Sides) -> list[str]:
    """Remarks on documents whose ids are the same letters, written in two ways.

    An "é" is one character of Unicode, or an "e" and an accent.
    """
    if sides.is_ascii:
        return []
    known: dict[str, str] = {}
    for doc_id in {x: None for ids in sides.doc_ids() for x in ids if not x.isascii()}:
        written = known.setdefault(unicodedata.normalize("NFC", doc_id), doc_id)
        if written != doc_id:
            return [
                f"the documents {ascii(written)[:80]} and {ascii(doc_id)[:80]} print alike "
                "but differ; pass ids through unicodedata.normalize('NFC', …) if they are "
                "the same"
            ]
    return []


def _unmatched_ids(sides: Sides) -> list[str]:
    """Remarks if hardly any retrieved document is judged, and none of them is relevant."""
    counts, is_hit = sides.retrieved.counts, sides.is_retrieved
    num_retrieved, num_judged = int(counts.sum()), np.count_nonzero(is_hit)
    is_found = is_hit & (sides.judged.values > 0)
    if num_judged >= _LEAST_JUDGED * num_retrieved or is_found.any():
        return []
    first = int(np.argmax((counts > 0) & (sides.judged.counts > 0)))
    examples = [
        ", ".join(
            repr(x)[:80] for x in ids[rows.ranges()[first]].head(_SHOWN).to_list()
        )
        for ids, rows in zip(
            sides.doc_ids(), (sides.judged, sides.retrieved), strict=True
        )
    ]
    return [
        f"{num_judged} of {num_retrieved} retrieved documents are judged, and none is "
        f"relevant: of query {sides.query_ids[first]!r}, the judgements hold "
        f"{examples[0]}, and the run {examples[1]}; pass ids that are written alike on "
        "both sides, if these are the same documents"
    ]
