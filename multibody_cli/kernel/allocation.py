"""Allocation of the arrays of a named tuple from the shapes that its fields declare.

    class Rows(NamedTuple):
        numbers: Annotated[Integers, "m"]
        wrenches: Annotated[Records, "m", 2, WRENCH]
        bounds: Bounds

    rows = allocate(Rows, m=12, bounds=...)

The shape follows the type of the array: names of sizes, and numbers.  An array of records, `NDArray[np.void]`, also has
their dtype.  A field that is a named tuple itself is allocated with the same sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from multibody_cli.kernel.mode import is_interpreted

T = TypeVar("T", bound=tuple[Any, ...])


def allocate(kind: type[T], /, **given: Any) -> T:
    """Return a named tuple whose arrays are zero.

    Parameters
    ----------
    kind
        The class of the named tuple.
    given
        Values of fields, which replace the declared arrays; other keywords are sizes.

    Raises
    ------
    KeyError
        A declared size is missing.
    TypeError
        A field has neither a value nor a declared shape nor a default, or no field has a size that is given.
    """
    fields = _declared(kind)
    sizes = {name: value for name, value in given.items() if name not in fields}
    unknown = sizes.keys() - _sizes(kind)
    if unknown:
        raise TypeError(f"{kind.__name__} has no size or field {', '.join(sorted(unknown))}")
    return _allocate(kind, sizes, {name: value for name, value in given.items() if name in fields})


def _allocate(kind: type[T], sizes: Mapping[str, int], values: Mapping[str, Any]) -> T:
    return kind(**values, **{name: make(sizes) for name, make in _makers(kind).items() if name not in values})


def records(array: Any) -> Any:
    """Return a structured array in the form that kernels accept: in interpreted mode, with fields as attributes."""
    return array.view(np.recarray) if is_interpreted() else array


@cache
def _declared(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _sizes(kind: type) -> frozenset[str]:
    """Return the names of sizes that the fields of a named tuple declare, also those of inner named tuples."""
    found: set[str] = set()
    for hint in _declared(kind).values():
        if get_origin(hint) is Annotated:
            found.update(size for size in get_args(hint)[1:] if isinstance(size, str))
        elif _has_arrays(hint):
            found |= _sizes(hint)
    return frozenset(found)


def _has_arrays(hint: Any) -> bool:
    return get_origin(hint) is Annotated or hasattr(hint, "_fields")


@cache
def _makers(kind: type) -> Mapping[str, Callable[[Mapping[str, int]], Any]]:
    """Return for each field that is allocated the function from the sizes to its value."""
    return {name: _maker(hint) for name, hint in _declared(kind).items() if _has_arrays(hint)}


def _maker(hint: Any) -> Callable[[Mapping[str, int]], Any]:
    if get_origin(hint) is not Annotated:
        return partial(_allocate, hint, values={})
    array, *declared = get_args(hint)
    (dtype,) = get_args(get_args(array)[1])
    if dtype is np.void:
        *declared, dtype = declared
    dtype = np.dtype(dtype)

    def make(sizes: Mapping[str, int]) -> Any:
        zeros = np.zeros([sizes[one] if isinstance(one, str) else one for one in declared], dtype)
        return records(zeros) if dtype.names else zeros

    return make
