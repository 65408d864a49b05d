"""Compilation tasks: the symbol of code, by which it is stored, and the recipe with which any process compiles it."""

from __future__ import annotations

import pickle
from functools import cached_property
from hashlib import sha256
from typing import Any

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import store
from multibody_cli.kernel.arguments import narrow
from multibody_cli.kernel.functions import Formula
from multibody_cli.kernel.store import compiler_digest


class Task(Immutable):
    """A compilation task: its symbol and its recipe.

    `how` is a tuple of the kind of task and its arguments (`compiling.compile_one`), or the pickle of this tuple.
    """

    symbol: str
    how: tuple[Any, ...] | bytes

    @cached_property
    def recipe(self) -> bytes:
        """The pickled task; empty if only this process can compile it."""
        if isinstance(self.how, bytes):
            return self.how
        try:
            return store.as_recipe(*self.how)
        except (pickle.PicklingError, AttributeError):
            return b""


def entry_task(kernel: Formula, kinds: tuple[Any, ...]) -> Task:
    """Return the task to compile the entry point of a kernel for kinds of arguments."""
    names = kernel.reach.names
    kinds = tuple(narrow(kind, names) for kind in kinds)
    digest = sha256(f"{compiler_digest()} {kernel.reach.digest} {kinds!r}".encode()).hexdigest()
    return Task("e" + digest[:31], ("entry", kernel, kinds))


def generated_task(title: str, arguments: str, write: Any) -> Task:
    """Return the task to compile a function of generated source; see `kernels.generated_code`."""
    digest = sha256(f"{compiler_digest()} {arguments} {write.digest}".encode()).hexdigest()
    return Task("g" + digest[:31], ("generated", title, arguments, write))
