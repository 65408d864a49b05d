"""A way to call formulas: they have no entry from Python of their own, so each is wrapped in a kernel."""

from __future__ import annotations

import inspect
from functools import cache
from types import ModuleType
from typing import Any

from multibody_cli.kernel import bound_kernel


def call_1(a):
    return formula(a)  # noqa: F821


def call_2(a, b):
    return formula(a, b)  # noqa: F821


def call_3(a, b, c):
    return formula(a, b, c)  # noqa: F821


def call_4(a, b, c, d):
    return formula(a, b, c, d)  # noqa: F821


def call_0():
    return formula()  # noqa: F821


TEMPLATES = {0: call_0, 1: call_1, 2: call_2, 3: call_3, 4: call_4}


@cache
def called(formula: Any) -> Any:
    """A kernel that does nothing but call one formula."""
    plain = getattr(formula, "py_func", formula)
    template = TEMPLATES[len(inspect.signature(plain).parameters)]
    return bound_kernel(template, formula=formula)


class Formulas:
    """The formulas of a module, ready to be called."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return called(getattr(self._module, name))
