"""Arrays: numba's value of one from its address, shape and strides, which are all that a call passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.datamodel import models

WORD = ir.IntType(64)


def array_of(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any], strides: Sequence[Any]) -> Any:
    """Write an array of a type; strides of a contiguous one follow from its shape and are not given."""
    array = context.make_array(kind)(context, builder)
    item = WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    count, contiguous = WORD(1), [item]
    for length in shape:
        count = builder.mul(count, length, flags=["nsw"])
    for length in reversed(shape[1:]):
        contiguous.insert(0, builder.mul(contiguous[0], length))
    array.data, array.nitems, array.itemsize = data, count, item
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides or contiguous[: len(shape)])
    array.meminfo = array.parent = cgutils.get_null_value(ir.IntType(8).as_pointer())
    return array._getvalue()


class ArrayModel(models.NestedArrayModel):  # type: ignore[misc]
    """Numba's model of arrays, also of those in records, but a call passes two words for a vector, not seven."""

    def __init__(self, manager: Any, kind: Any, context: Any) -> None:
        super().__init__(manager, kind)
        self._kind, self._context = kind, context
        self._passed = ("data", "shape") if kind.layout == "C" else ("data", "shape", "strides")

    def _model(self, name: str) -> Any:
        return self._models[self.get_field_position(name)]

    def get_argument_type(self) -> Any:
        """Return the types of the words that a call passes."""
        return tuple(self._model(name).get_argument_type() for name in self._passed)

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the words of an array."""
        return tuple(self._model(name).as_argument(builder, self.get(builder, value, name)) for name in self._passed)

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Return the array of words."""
        data, shape, *strides = value
        return array_of(self._context, builder, self._kind, data, shape, strides[0] if strides else ())
