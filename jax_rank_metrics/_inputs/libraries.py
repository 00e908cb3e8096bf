"""Which library a value is of: one that this package need not import, or JAX."""

import sys
from typing import Any, Protocol, TypeGuard, runtime_checkable

import jax
from jax.typing import ArrayLike

from jax_rank_metrics._optional import import_optional


@runtime_checkable
class _Variable(Protocol):
    """A variable of a model, which JAX reads as an array."""

    def __jax_array__(self) -> jax.Array:
        """Returns the array."""
        ...


def is_of_jax(value: object) -> TypeGuard[ArrayLike]:
    """Whether JAX has this value, as an array or as a variable of a model."""
    return isinstance(value, (jax.Array, _Variable))


@runtime_checkable
class _ArrowTable(Protocol):
    """A table that can be read as one of Arrow, such as those of pyarrow and DuckDB."""

    @property
    def columns(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def as_frame(value: Any, purpose: str) -> Any:
    """Returns a lazy frame, or a table of Arrow, as a frame of polars; others as they are.

    Raises:
        ModuleNotFoundError: for a table, if polars is not installed.
    """
    if _is_of(value, "polars", "LazyFrame"):
        return value.collect()
    if is_pandas_frame(value) or _is_of(value, "polars", "DataFrame"):
        return value
    if not isinstance(value, _ArrowTable):
        return value
    return import_optional("polars", purpose, "trec").DataFrame(value)


def _is_of(value: object, library: str, *class_names: str) -> bool:
    """Whether a value is of a class of a library, which a caller may have imported.

    If the library is not imported, the value cannot be of one of its classes.
    """
    module = sys.modules.get(library)
    classes = tuple(getattr(module, name, ()) for name in class_names)
    return module is not None and isinstance(value, classes)


def is_pandas_frame(value: Any) -> TypeGuard[Any]:
    """Whether a value is a DataFrame of pandas."""
    return _is_of(value, "pandas", "DataFrame")


def is_frame(value: Any) -> TypeGuard[Any]:
    """Whether a value is a frame of pandas or polars, or a table of Arrow.

    Who reads its columns calls `as_frame` before.
    """
    is_polars = _is_of(value, "polars", "DataFrame", "LazyFrame")
    return is_pandas_frame(value) or is_polars or isinstance(value, _ArrowTable)


def is_series(value: Any) -> TypeGuard[Any]:
    """Whether a value is a Series of pandas, which has an index."""
    return _is_of(value, "pandas", "Series")


def is_sparse(value: Any) -> TypeGuard[Any]:
    """Whether a value is a sparse matrix or array of scipy."""
    return _is_of(value, "scipy.sparse", "sparray", "spmatrix")


def is_torch_tensor(value: Any) -> TypeGuard[Any]:
    """Whether a value is a tensor of PyTorch."""
    return _is_of(value, "torch", "Tensor")
