"""Access to formulas from Python: each is wrapped in a kernel, since it has no entry point of its own."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from multibody_cli.kernel import bound_kernel, kernel_parameter, template


@kernel_parameter
def formula(*arguments):
    """The formula that is called."""


@template(formula)
def call_1(a):
    return formula(a)


@template(formula)
def call_2(a, b):
    return formula(a, b)


@template(formula)
def call_3(a, b, c):
    return formula(a, b, c)


@template(formula)
def call_4(a, b, c, d):
    return formula(a, b, c, d)


@template(formula)
def call_0():
    return formula()


TEMPLATES = {0: call_0, 1: call_1, 2: call_2, 3: call_3, 4: call_4}


@cache
def called(given: Any) -> Any:
    """A kernel that does nothing but call one formula."""
    return bound_kernel(TEMPLATES[len(given.argument_names)], formula=given)


class Formulas:
    """The formulas of a module, ready to be called."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return called(getattr(self._module, name))
