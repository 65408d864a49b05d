"""Mode of execution: compiled kernels or plain Python."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Any

_mathematics: list[Any] = [None]

_modes = [os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")]


def is_interpreted() -> bool:
    """Return whether kernels run as plain Python."""
    return _modes[-1]


@contextmanager
def interpreted(wanted: bool = True, mathematics: Any = None) -> Iterator[None]:
    """Run kernels as plain Python inside a `with` statement; `mathematics` takes the place of the module `math`.

    Work arrays must be allocated inside it as well: plain Python accesses fields of records as attributes.
    """
    _modes.append(wanted)
    _mathematics.append(mathematics)
    try:
        yield
    finally:
        _modes.pop()
        _mathematics.pop()


def in_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of plain Python with the mathematics of the mode."""
    other = _mathematics[-1]
    return function if other is None else _with_mathematics(function, other)


@cache
def _with_mathematics(function: Callable[..., Any], other: Any) -> Callable[..., Any]:
    own = {word: one for word, one in function.__globals__.items() if one is math or _is_of(word, one)}
    if not own:
        return function
    names = {word: other if one is math else getattr(other, word) for word, one in own.items()}
    found = FunctionType(function.__code__, function.__globals__ | names, function.__name__)
    found.__defaults__ = function.__defaults__
    return found


def _is_of(word: str, one: Any) -> bool:
    return callable(one) and getattr(math, word, None) is one
