"""Compares the results of drivers."""

import numpy as np


def check_same(actual, expected, atol=0):
    """Checks that ids are the same, and values of each query within a tolerance."""
    np.testing.assert_array_equal(actual.retrieved_ids, expected.retrieved_ids)
    assert list(actual.lists) == list(expected.lists)
    for name, lists in expected.lists.items():
        other = actual.lists[name]
        assert isinstance(other.values, np.ndarray)
        assert other.undefined == lists.undefined
        np.testing.assert_allclose(other.values, lists.values, 0, atol, err_msg=name)
        np.testing.assert_array_equal(other.defined, lists.defined)
        np.testing.assert_array_equal(other.weights, lists.weights)
