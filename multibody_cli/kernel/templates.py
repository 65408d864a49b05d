"""Templates: functions with parameters that are kernels or numbers, and are bound before compilation.

A parameter is a global name, declared once with the arguments or the type of its values.  A template declares its own
parameters and those of the templates that it calls:

    @kernel_parameter
    def accelerate(system: Any, work: Any, a: Any) -> None:
        \"\"\"Compute dv/dt of the free coordinates into `a` (nv,).\"\"\"

    @template(accelerate)
    def take_step(system, work, h, v, a):
        ...

    take_step_of_aba = bound_kernel(take_step, accelerate=aba.accelerate)

Binding a template binds the templates that it calls to the same values.  The same values yield the same kernel.  Every
parameter must be bound, except an optional one: where it is left out or None, its declaration is the value.

    @optional_kernel_parameter
    def find_contacts(system: Any, work: Any) -> int:
        \"\"\"Detect contacts; return their number, 0 in systems without geoms.\"\"\"
        return 0
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from multibody_cli.immutable import Immutable
from multibody_cli.kernel.functions import Formula, pickled_by_name, with_globals
from multibody_cli.kernel.kernels import Kernel
from multibody_cli.kernel.reach import global_names

Signature = TypeVar("Signature", bound=Callable[..., Any])


class Parameter(Immutable, eq=False):
    """A parameter of templates.

    Parameters
    ----------
    name
        Its global name, and its keyword in `bound_kernel`.
    kind
        The type of a number, or a function with the arguments and the result of a kernel.
    optional
        Whether this function is the value where no other is bound.
    """

    name: str
    kind: Any
    optional: bool = False

    @cached_property
    def declaration(self) -> Formula:
        """The declared function, as the value of an optional parameter."""
        return Formula(self.kind)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments of a kernel."""
        return tuple(inspect.signature(self.kind).parameters)

    def problem_with(self, value: Any) -> str:
        """Return the reason why it cannot be bound to a value; empty if it can."""
        if isinstance(self.kind, type):
            return "" if type(value) is self.kind else f"expected a number of type {self.kind.__name__}, not {value!r}"
        if not isinstance(value, Formula):
            return f"expected a kernel or a formula, not {value!r}"
        arguments, code = value.argument_names, self.kind.__code__
        if len(arguments) != code.co_argcount and not code.co_flags & inspect.CO_VARARGS:
            return f"{value.full_name} takes ({', '.join(arguments)}), expected ({', '.join(self.arguments)})"
        result = self.kind.__annotations__.get("return", Any)
        if result not in (Any, "Any") and (result in (None, "None")) != value.returns_nothing:
            return f"{value.full_name} returns {'nothing' if value.returns_nothing else 'a value'}, expected {result}"
        return ""


class Template:
    """A function with declared parameters; `bound_kernel` makes kernels from it."""

    def __init__(self, function: Callable[..., Any], parameters: tuple[Parameter, ...], lazy: bool = False) -> None:
        self.py_func, self.lazy = function, lazy
        self.parameters = {parameter.name: parameter for parameter in parameters}
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__

    def __reduce__(self) -> Any:
        """Pickle it by name."""
        return pickled_by_name(self)

    @property
    def full_name(self) -> str:
        """Module and qualified name of the function."""
        return f"{self.__module__}.{self.__qualname__}"

    @cached_property
    def replaced(self) -> dict[str, Parameter | Template]:
        """The parameters and templates that occur in its own code, by their global names."""
        found = {word: self.py_func.__globals__.get(word) for word in global_names(self.py_func)}
        return {word: one for word, one in found.items() if isinstance(one, Parameter | Template)}

    def check(self) -> None:
        """Refuse a declaration that differs from the parameters that occur.

        Raises
        ------
        TypeError
            If a declared parameter does not occur in the template or in those that it calls, or another one does.
        """
        occurring: set[Parameter] = set()
        for one in self.replaced.values():
            occurring |= {one} if isinstance(one, Parameter) else {*one.parameters.values()}
        declared = {*self.parameters.values()}
        for parameter in declared - occurring:
            raise TypeError(f"{self.full_name} declares the parameter `{parameter.name}`, which does not occur in it")
        for parameter in occurring - declared:
            raise TypeError(f"{self.full_name} does not declare its parameter `{parameter.name}`")


def kernel_parameter(signature: Signature) -> Signature:
    """Declare a parameter whose values are kernels or formulas.

    The decorated function has the arguments of these; it is never called.  Its annotation `-> None` excludes kernels
    that return a value; any other annotation of the result, except `Any`, excludes those that do not.
    """
    return cast("Signature", Parameter(signature.__name__, signature))


def optional_kernel_parameter(signature: Signature) -> Signature:
    """Declare a kernel parameter that may be left out: the decorated function is then its value, a formula."""
    return cast("Signature", Parameter(signature.__name__, signature, optional=True))


def number_parameter(name: str, kind: type[bool] | type[int] | type[float]) -> Any:
    """Declare a parameter whose values are numbers."""
    return Parameter(name, kind)


def template(*parameters: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a template with these parameters: its own, and those of the templates that it calls."""
    return lambda function: Template(function, parameters)


def lazy_template(*parameters: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a template of lazy kernels (`kernels`)."""
    return lambda function: Template(function, parameters, lazy=True)


def bound_kernel(template: Template, **bindings: Any) -> Any:
    """Bind the parameters of a template, and of the templates that it calls, and return the resulting kernel.

    Parameters
    ----------
    template
        A template.
    bindings
        The values of all of its parameters: kernels, formulas or numbers; None for an optional one without a value.

    Raises
    ------
    TypeError
        If a name is not a parameter of the template, if a parameter is not bound, or if a value does not fit: a kernel
        with another number of arguments, a kernel instead of a number.
    """
    for name in bindings:
        if name not in template.parameters:
            raise TypeError(f"{template.full_name} has no template parameter `{name}`")
    given = {name: value for name, value in bindings.items() if value is not None}
    for name, parameter in template.parameters.items():
        if parameter.optional and name not in given:
            continue
        if name not in given:
            raise TypeError(f"{template.full_name}: its template parameter `{name}` is not bound")
        if problem := parameter.problem_with(given[name]):
            raise TypeError(f"{template.full_name}: `{name}`: {problem}")
    return _bound(template, tuple(sorted(given.items())))


@cache
def _bound(template: Template, bindings: tuple[tuple[str, Any], ...]) -> Kernel:
    """Bind a template to values that fit."""
    template.check()
    values, names = dict(bindings), {}
    for word, one in template.replaced.items():
        if isinstance(one, Parameter):
            names[word] = values.get(one.name, one.declaration)
        else:
            names[word] = _bound(one, tuple(binding for binding in bindings if binding[0] in one.parameters))
    return Kernel(with_globals(template.py_func, names), (_bound, (template, bindings)), template.lazy)
