"""Allocation of the arrays of a named tuple from the shapes that its fields declare.

    class Rows(NamedTuple):
        numbers: Annotated[Integers, "m"]
        wrenches: Annotated[Records, "m", 2, WRENCH]
        first: Annotated[Integers, "m + 1"]
        bounds: Bounds

    rows = allocate(Rows, m=12, bounds=...)

The shape follows the type of the array: numbers, and expressions of sizes.  `Floats`, `Integers` and `Flags` declare
their dtype; `Records` have it after the shape.  A field that is a named tuple itself is allocated with the same sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import CodeType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel.mode import is_interpreted

Floats = Annotated[NDArray[np.float64], np.dtype(np.float64)]
Integers = Annotated[NDArray[np.int64], np.dtype(np.int64)]
Flags = Annotated[NDArray[np.bool_], np.dtype(np.bool_)]
Records = NDArray[np.void]

T = TypeVar("T", bound=tuple[Any, ...])
Array = TypeVar("Array", bound=np.ndarray[Any, Any])


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


def records(array: Array) -> Array:
    """Return a structured array in the form that kernels accept: in interpreted mode, with fields as attributes."""
    return cast("Array", array.view(np.recarray)) if is_interpreted() else array


def frozen(array: Array) -> Array:
    """Return an array that is constant from now on, a structured one as `records` does."""
    array.flags.writeable = False
    return records(array) if array.dtype.names else array


@cache
def _declared(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _sizes(kind: type) -> frozenset[str]:
    """Return the names of sizes that the fields of a named tuple declare, also those of inner named tuples."""
    found: set[str] = set()
    for hint in _declared(kind).values():
        if hasattr(hint, "_fields"):
            found |= _sizes(hint)
        else:
            found.update(name for one in _shape(hint) for name in _expression(one).co_names)
    return frozenset(found)


def _shape(hint: Any) -> list[str]:
    """Return the declared shape of an array, which is empty if the field is not allocated."""
    declared = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return [str(one) for one in declared if isinstance(one, str | int)]


@cache
def _expression(size: str) -> CodeType:
    return compile(size, "<size>", "eval")


@cache
def _makers(kind: type) -> Mapping[str, Callable[[Mapping[str, int]], Any]]:
    """Return for each field that is allocated the function from the sizes to its value."""
    hints = _declared(kind)
    return {name: _maker(hint) for name, hint in hints.items() if hasattr(hint, "_fields") or _shape(hint)}


def _maker(hint: Any) -> Callable[[Mapping[str, int]], Any]:
    if hasattr(hint, "_fields"):
        return partial(_allocate, hint, values={})
    shape = [_expression(one) for one in _shape(hint)]
    (dtype,) = (one for one in get_args(hint) if isinstance(one, np.dtype))

    def make(sizes: Mapping[str, int]) -> Any:
        zeros = np.zeros([eval(one, {name: sizes[name] for name in one.co_names}) for one in shape], dtype)
        return records(zeros) if dtype.names else zeros

    return make
