"""Kernels: functions that Python calls as compiled code, which is loaded, and compiled first if it is missing.

A kernel that returns a value may declare its class, as in `-> int`: its callers are then compiled without waiting for
it.

A *lazy* kernel is compiled and loaded when it is first called: code of its own for one type of element, or for one that
is rarely called, costs the first run of other scenes nothing.  A call takes one load and one comparison more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from multibody_cli.kernel.arguments import Arguments
from multibody_cli.kernel.functions import Formula
from multibody_cli.kernel.linking import loaded
from multibody_cli.kernel.loading import EntryPoint, address_of, one_at_a_time
from multibody_cli.kernel.mode import is_interpreted
from multibody_cli.kernel.tasks import entry_task, generated_task

MAX_INLINED_BYTES = 360
"""Size of the bytecode in bytes up to which a kernel is inlined.

Measured on 16 boxes, us a step: no inlining 183, up to 260 bytes 159, 440 bytes 129, 600 bytes 114; compiling contacts
from scratch takes 22, 22, 25 and 28 s.
"""


class Kernel(Formula):
    """A function of arrays and numbers that is compiled to object code of its own, unless it is small and not lazy.

    Raises
    ------
    KernelError
        When it is called, if it cannot be compiled or loaded.
    """

    def __init__(self, function: Callable[..., Any], recipe: tuple[Any, ...] | None = None, lazy: bool = False) -> None:
        super().__init__(function, recipe)
        self.lazy = lazy

    @cached_property
    def inlined(self) -> bool:
        """Whether it is small enough to be inlined like a formula."""
        return not self.lazy and len(self.py_func.__code__.co_code) <= MAX_INLINED_BYTES

    @cached_property
    def _entries(self) -> dict[tuple[Any, ...], Callable[..., Any]]:
        return {}

    def __call__(self, *args: Any) -> Any:
        """Call the compiled code for these kinds of arguments; compile it first if it is missing."""
        if is_interpreted():
            return super().__call__(*args)
        arguments = Arguments(args)
        return self._entry(arguments)(arguments)

    def _entry(self, arguments: Any) -> Any:
        entry = self._entries.get(arguments.key)
        if entry is None:
            with one_at_a_time:
                symbol = loaded(entry_task(self, arguments.kinds))
                entry = self._entries[arguments.key] = EntryPoint(symbol, arguments.kinds)
        return entry

    def on(self, *leading: Any) -> Callable[..., Any]:
        """Return the kernel with its leading arguments fixed, as a function of numbers, for many fast calls.

        The kinds of the numbers are those of the first call.  Arrays and tuples of arrays are neither resized nor
        replaced in the meantime.
        """
        if is_interpreted():
            return partial(self.py_func, *leading)
        prepared: Callable[..., Any] | None = None

        def call(*numbers: Any) -> Any:
            nonlocal prepared
            if prepared is None:
                prepared = self.prepared(leading, numbers)
            return prepared(*numbers)

        return call

    def prepared(self, leading: tuple[Any, ...], numbers: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the function of `on` for numbers of the kinds of `numbers`, without a check in each call."""
        if is_interpreted():
            return partial(self.py_func, *leading)
        arguments = Arguments((*leading, *numbers))
        return self._entry(arguments).on(arguments, len(numbers))  # type: ignore[no-any-return]


def kernel(function: Any) -> Any:
    """Declare a kernel."""
    return Kernel(function)


def lazy_kernel(function: Any) -> Any:
    """Declare a kernel that is compiled and loaded when it is first called."""
    return Kernel(function, lazy=True)


def generated_code(title: str, arguments: str, write: Any) -> int:
    """Compile a function of generated source, or load it from the store; return its address.

    Parameters
    ----------
    title
        Title for display.
    arguments
        Kinds of its array arguments: f for float64, v for vectors of `LANES` float64, d for dual numbers
        (a float64 and a vector), i for int64.
    write
        Writer of its instructions (`symbolic.instructions`); `write.digest` covers everything that determines them.
    """
    with one_at_a_time:
        return address_of(loaded(generated_task(title, arguments, write)))
