"""What may be asked of a benchmark: the same words on the command line and in a suite."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from multibody_cli.errors import QuantityError, nearest
from multibody_cli.methods import METHODS, METHODS_LATER
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.peers import PEERS
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.quantities import shown
from multibody_cli.spec.reading import read_each

ALL = "all"
"""The word that stands for every entry of a catalogue."""


class Size(NamedTuple):
    """`KEY=2,4,8`: a value of the scene, and what it becomes one after the other."""

    key: str
    values: tuple[float, ...]


def _several(value: Any) -> list[Any]:
    """Take one word, words with commas between them, or a list."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _names(what: str, catalogue: Collection[str], later: Collection[str] = ()) -> Callable[[Any], tuple[str, ...]]:
    """Make a reader of names of a catalogue, or of `all`."""

    def read(name: Any) -> str:
        if name in later:
            raise ValueError(f"the {what} `{name}` is not yet supported; valid: {', '.join(sorted(catalogue))}")
        if name != ALL and name not in catalogue:
            raise ValueError(f"there is no {what} {shown(name)}: {nearest(str(name), [*catalogue, ALL])}")
        return str(name)

    def read_all(value: Any) -> tuple[str, ...]:
        names = read_each(read, _several(value))
        return tuple(dict.fromkeys(catalogue if ALL in names else names))

    return read_all


def _quantities(kind: units.Kind) -> Callable[[Any], tuple[float, ...]]:
    """Make a reader of quantities above zero."""
    return lambda value: tuple(dict.fromkeys(read_each(Quantity(kind, above=0.0).read, _several(value))))


def _read_size(value: Any) -> Size:
    key, _, values = value.partition("=") if isinstance(value, str) else ("", "", "")
    try:
        size = Size(key.strip(), tuple(float(number) for number in values.split(",")))
    except ValueError:
        size = Size("", ())
    if not size.key or not all(0 < number < float("inf") for number in size.values):
        raise QuantityError(f"expected KEY=2,4,8 with numbers above 0, found {shown(value)}")
    return size


def _read_repeat(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if type(number) is not int or not 1 <= number <= 1000:
        raise QuantityError(f"expected a whole number from 1 to 1000, found {shown(value)}")
    return number


def _read_settings(value: Any) -> tuple[str, ...]:
    texts = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise QuantityError(f"expected KEY=VALUE or a list of these, found {shown(value)}")
    return tuple(texts)


def _read_scenes(value: Any) -> tuple[Path, ...]:
    texts = value if isinstance(value, list | tuple) else [value]
    if not texts or not all(isinstance(text, str | Path) for text in texts):
        raise QuantityError(f"expected the path of a scene or a list of these, found {shown(value)}")
    return tuple(Path(text) for text in texts)


Names = tuple[str, ...]
Numbers = tuple[float, ...]


class BenchSpec(Spec):
    """One benchmark: every scene with every method, integrator, step and size that is asked for."""

    scenes: Annotated[tuple[Path, ...], BeforeValidator(_read_scenes)] = Field((), description="Scene files.")
    method: Annotated[Names, BeforeValidator(_names("method", METHODS, METHODS_LATER))] = Field(
        (), description="Methods, or `all`; without it, that of the scene."
    )
    integrator: Annotated[Names, BeforeValidator(_names("integrator", INTEGRATORS))] = Field(
        (), description="Integrators, or `all`; without it, that of the scene."
    )
    step: Annotated[Numbers, BeforeValidator(_quantities(units.TIME))] = Field(
        (), description="Time steps of integrators of fixed step, s."
    )
    tolerance: Annotated[Numbers, BeforeValidator(_quantities(units.NUMBER))] = Field(
        (), description="Relative tolerances of adaptive integrators."
    )
    set: Annotated[tuple[str, ...], BeforeValidator(_read_settings)] = Field(
        (), description="Values to replace in each scene, each `KEY=VALUE`."
    )
    size: Annotated[Size | None, BeforeValidator(_read_size)] = Field(
        None, description="A value of the scene, and what it becomes one after the other: `vars.n=2,4,8`."
    )
    repeat: Annotated[int, BeforeValidator(_read_repeat)] = Field(7, description="Blocks of each timing.")
    accuracy: Annotated[float, Quantity(units.LENGTH, above=0.0)] | None = Field(
        None, description="Accuracy that is asked for, m: errors are measured against a reference run."
    )
    duration: Annotated[float, Quantity(units.TIME, above=0.0)] | None = Field(
        None, description="Time that is simulated for the errors, s, instead of the scene's."
    )
    against: Annotated[Names, BeforeValidator(_names("peer", PEERS))] = Field(
        (), description="Other programs to time the same scene in."
    )
