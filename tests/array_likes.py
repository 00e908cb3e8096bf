"""Objects that NumPy or JAX convert to arrays, as other libraries have them."""

import jax.numpy as jnp
import numpy as np


class Tensor:
    """Behaves like a tensor of torch or a column of pandas: NumPy converts it."""

    def __init__(self, values):
        """Takes anything that NumPy converts."""
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        """Returns the array for NumPy."""
        return self.values


class Variable:
    """Behaves like a parameter of a model: JAX converts it by `__jax_array__`."""

    def __init__(self, values):
        """Takes anything that JAX converts."""
        self.values = jnp.asarray(values)

    def __jax_array__(self):
        """Returns the array for JAX."""
        return self.values
