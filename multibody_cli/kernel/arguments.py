"""Kinds of kernel arguments, and their memory layout.

An argument is a number, an array, a value (a named tuple of numbers), a tuple of these, or a *block*: a named tuple
that contains arrays.  A block is passed to a kernel as one pointer to words of 8 bytes: numbers, and for each array the
address of its data, its shape and, unless it is C contiguous, its strides.  Nested blocks are stored inline.

The words are a snapshot: the arrays of a block must be neither resized nor replaced.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from struct import Struct
from typing import Any

import numpy as np

from multibody_cli.immutable import Immutable

WORD = 8


class Number(Immutable):
    """A number, with its format code as in `struct`: `d` (float64), `q` (int64) or `?` (bool)."""

    code: str


class Array(Immutable):
    """An array: its dtype, its number of dimensions, and whether it is C contiguous."""

    dtype: np.dtype[Any]
    ndim: int
    contiguous: bool

    def __repr__(self) -> str:
        """Return a text for digests."""
        return f"array({_text_of(self.dtype)}, {self.ndim}, {self.contiguous})"


class Record(Immutable):
    """A row of a structured array."""

    dtype: np.dtype[Any]

    def __repr__(self) -> str:
        """Return a text for digests."""
        return f"record({_text_of(self.dtype)})"


_text_of = cache(repr)  # NumPy composes the text of a dtype anew each time


class Value(Immutable):
    """A named tuple of numbers and values, which kernels keep in registers."""

    instance: type
    names: tuple[str, ...]
    kinds: tuple[Any, ...]


class Sequence(Immutable):
    """A plain tuple."""

    kinds: tuple[Any, ...]


class Field(Immutable):
    """A field of a block: its name, its offset in bytes, and its kind."""

    name: str
    offset: int
    kind: Any


class Block(Immutable):
    """A named tuple that contains arrays, as its fields; `size` is in bytes."""

    fields: tuple[Field, ...]
    size: int

    @cached_property
    def packer(self) -> Struct:
        """The packer of its words."""
        return Struct("@" + format_of(self))

    @cached_property
    def _hash(self) -> int:
        return hash((self.fields, self.size))

    def __hash__(self) -> int:
        """Return the hash, which is computed once: blocks are nested deeply."""
        return self._hash


REAL, INTEGER, BOOLEAN = Number("d"), Number("q"), Number("?")


def size_of(kind: Any) -> int:
    """Return the size in bytes of a value inside a block."""
    if isinstance(kind, Array):
        return WORD * (1 + kind.ndim * (1 if kind.contiguous else 2))
    if isinstance(kind, Block):
        return kind.size
    if isinstance(kind, Value | Sequence):
        return sum(map(size_of, kind.kinds))
    return WORD


_kinds: dict[Any, Any] = {}


def _interned(kind: Any) -> Any:
    """Return the unique instance of a kind, so that kinds can be compared by identity."""
    return _kinds.setdefault(kind, kind)


@cache
def _array(dtype: np.dtype[Any], ndim: int, contiguous: bool) -> Array:
    return _interned(Array(_plain(dtype), ndim, contiguous))  # type: ignore[no-any-return]


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a record array as that of a structured array."""
    return dtype if dtype.type is not np.record else np.dtype((np.void, dtype))


_address_at, _DATA = ctypes.c_size_t.from_address, object.__basicsize__
"""Address of the data of an array: the first field of `PyArrayObject` behind the header, in NumPy's C interface.

It takes an eighth of the time of `ndarray.ctypes.data`, which was most of that of a call from Python.
"""


def kind_of(value: Any) -> Any:
    """Return the kind of an argument.

    Raises
    ------
    TypeError
        If kernels do not accept values of that kind.
    """
    return _write(value, [])


def _write(value: Any, words: list[Any]) -> Any:
    """Append the words of an argument, and return its kind."""
    if isinstance(value, np.ndarray):
        kind = _array(value.dtype, value.ndim, value.flags.c_contiguous)
        words.append(_address_at(id(value) + _DATA).value)
        words += value.shape
        if not kind.contiguous:
            words += value.strides
        return kind
    if isinstance(value, tuple):
        return _kind_of_tuple(type(value), tuple([_write(part, words) for part in value]))
    if isinstance(value, float | np.floating):
        words.append(value)
        return REAL
    if isinstance(value, bool | np.bool_):
        words.append(int(value))
        return BOOLEAN
    if isinstance(value, int | np.integer):
        words.append(value)
        return INTEGER
    if isinstance(value, np.void):
        words.append(value.__array_interface__["data"][0])
        return _interned(Record(_plain(value.dtype)))
    raise TypeError(f"a kernel takes numbers, arrays and tuples of these, not {type(value).__name__}")


def _kind_of_tuple(instance: type, kinds: tuple[Any, ...]) -> Any:
    """Return the kind of a tuple whose parts have interned kinds."""
    key = (instance, *map(id, kinds))
    if key not in _kinds_of_tuples:
        _kinds_of_tuples[key] = _interned(_new_kind_of_tuple(instance, kinds))
    return _kinds_of_tuples[key]


_kinds_of_tuples: dict[Any, Any] = {}
"""Kinds of tuples by their class and the identities of the kinds of their parts, which are interned."""


def _new_kind_of_tuple(instance: Any, kinds: tuple[Any, ...]) -> Any:
    if not hasattr(instance, "_fields"):
        return Sequence(kinds)
    if all(isinstance(kind, Number | Value) for kind in kinds):
        return Value(instance, instance._fields, kinds)
    fields, offset = [], 0
    for name, kind in zip(instance._fields, kinds, strict=True):
        if isinstance(kind, Sequence) and any(isinstance(one, Block) for one in kind.kinds):
            raise TypeError(f"{instance.__name__}.{name} is a tuple of blocks: give each a field of its own")
        fields.append(Field(name, offset, kind))
        offset += size_of(kind)
    return Block(tuple(fields), offset)


def narrow(kind: Any, names: frozenset[str]) -> Any:
    """Remove the fields of blocks whose names do not occur in a kernel: they do not affect its code."""
    if isinstance(kind, Block):
        fields = tuple(Field(one.name, one.offset, narrow(one.kind, names)) for one in kind.fields if one.name in names)
        return Block(fields, fields[-1].offset + size_of(fields[-1].kind) if fields else 0)
    if isinstance(kind, Sequence):
        return Sequence(tuple(narrow(one, names) for one in kind.kinds))
    return kind


def format_of(kind: Any) -> str:
    """Return the `struct` format of a value inside a block."""
    if isinstance(kind, Number):
        return kind.code if kind.code != "?" else "q"
    if isinstance(kind, Record):
        return "P"
    if isinstance(kind, Array):
        return "P" + "q" * (size_of(kind) // WORD - 1)
    if isinstance(kind, Block):
        return "".join(format_of(field.kind) for field in kind.fields)
    return "".join(map(format_of, kind.kinds))


class _Memory:
    """The block of a named tuple of arrays in memory; it keeps the arrays alive."""

    __slots__ = ("_buffer", "address", "kind", "value")

    def __init__(self, value: Any, kind: Block, words: Iterable[Any]) -> None:
        data = kind.packer.pack(*words)
        self.value, self.kind = value, kind
        self._buffer = ctypes.create_string_buffer(data, max(len(data), WORD))
        self.address = ctypes.addressof(self._buffer)


_blocks: OrderedDict[int, _Memory] = OrderedDict()
"""Blocks of the most recently passed named tuples, by the identity of the tuple."""

_MAX_BLOCKS = 64


def _memory_of(value: Any) -> _Memory | None:
    """Return the block of a named tuple; None if it contains no array."""
    found = _blocks.get(id(value))
    if found is not None:
        return found
    words: list[Any] = []
    kind = _write(value, words)
    if not isinstance(kind, Block):
        return None
    found = _blocks[id(value)] = _Memory(value, kind, words)
    if len(_blocks) > _MAX_BLOCKS:
        _blocks.popitem(last=False)
    return found


@lru_cache(maxsize=4096)
def packer(kinds: tuple[Any, ...]) -> Struct:
    """Return the packer of arguments into an argument block, in which each block argument is one pointer."""
    return Struct("@" + "".join(_argument_format(kind) for kind in kinds))


def _argument_format(kind: Any) -> str:
    if isinstance(kind, Block):
        return "P"
    if isinstance(kind, Sequence):
        return "".join(map(_argument_format, kind.kinds))
    return format_of(kind)


class Arguments:
    """The arguments of one call: their kinds, a key of the kinds, and their words in the order of `packer`."""

    __slots__ = ("_alive", "key", "kinds", "words")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.words: list[Any] = []
        self._alive: list[Any] = []
        self.kinds = tuple([self._add(value) for value in args])
        self.key = tuple(map(id, self.kinds))

    def _add(self, value: Any) -> Any:
        if isinstance(value, tuple):
            if not hasattr(value, "_fields"):
                return _kind_of_tuple(tuple, tuple([self._add(part) for part in value]))
            memory = _memory_of(value)
            if memory is not None:
                self._alive.append(memory)
                self.words.append(memory.address)
                return memory.kind
        return _write(value, self.words)
