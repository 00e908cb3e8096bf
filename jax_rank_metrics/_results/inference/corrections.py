"""Corrections of p values for their number; `[comparisons]` on the host."""

import numpy as np


def holm(p: np.ndarray) -> np.ndarray:
    """Holds the probability of any false alarm, by Holm's method.

    The smallest of n is multiplied by n, the next by n − 1, and so on; no corrected value
    is below that of a smaller p, and none exceeds 1.
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    multiplied = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return corrected


def false_discovery_rate(p: np.ndarray) -> np.ndarray:
    """Holds the expected share of false alarms among all alarms (Benjamini & Hochberg).

    The largest of n is multiplied by n / n, the next by n / (n − 1), and so on; no
    corrected value is above that of a larger p.
    """
    order = sorted(range(len(p)), key=lambda index: -p[index])
    multiplied = p[order] * len(p) / np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum.accumulate(multiplied)
    return corrected
