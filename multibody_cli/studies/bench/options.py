"""Options of a benchmark, on the command line and in a suite."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from multibody_cli.errors import QuantityError, nearest
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.peers import PEERS
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.quantities import format_value
from multibody_cli.spec.reading import read_each

ALL = "all"
"""The name that selects every entry of a catalogue."""


class Size(NamedTuple):
    """`KEY=2,4,8`: a key of the scene, and its values."""

    key: str
    values: tuple[float, ...]


def _several(value: Any) -> list[Any]:
    """Split a comma-separated string, or return a list unchanged."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _names(what: str, catalogue: Collection[str]) -> Callable[[Any], tuple[str, ...]]:
    """Return a reader of names of a catalogue, or of `all`."""

    def read(name: Any) -> str:
        if name != ALL and name not in catalogue:
            raise ValueError(f"unknown {what} {format_value(name)}: {nearest(str(name), [*catalogue, ALL])}")
        return str(name)

    def read_all(value: Any) -> tuple[str, ...]:
        names = read_each(read, _several(value))
        return tuple(dict.fromkeys(catalogue if ALL in names else names))

    return read_all


def _quantities(kind: units.Kind) -> Callable[[Any], tuple[float, ...]]:
    """Return a reader of positive quantities."""
    return lambda value: tuple(dict.fromkeys(read_each(Quantity(kind, above=0.0).read, _several(value))))


def _read_size(value: Any) -> Size:
    key, _, values = value.partition("=") if isinstance(value, str) else ("", "", "")
    try:
        size = Size(key.strip(), tuple(float(number) for number in values.split(",")))
    except ValueError:
        size = Size("", ())
    if not size.key or not all(0 < number < float("inf") for number in size.values):
        raise QuantityError(f"expected KEY=2,4,8 with numbers above 0, found {format_value(value)}")
    return size


def _read_repeat(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if type(number) is not int or not 1 <= number <= 1000:
        raise QuantityError(f"expected a whole number from 1 to 1000, found {format_value(value)}")
    return number


def _read_batch(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if type(number) is not int or not 2 <= number <= 10_000_000:
        raise QuantityError(f"expected a whole number from 2 to 10000000, found {format_value(value)}")
    return number


def _read_settings(value: Any) -> tuple[str, ...]:
    texts = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise QuantityError(f"expected KEY=VALUE or a list of these, found {format_value(value)}")
    return tuple(texts)


def _read_scenes(value: Any) -> tuple[Path, ...]:
    texts = value if isinstance(value, list | tuple) else [value]
    if not texts or not all(isinstance(text, str | Path) for text in texts):
        raise QuantityError(f"expected the path of a scene or a list of these, found {format_value(value)}")
    return tuple(Path(text) for text in texts)


Names = tuple[str, ...]
Numbers = tuple[float, ...]


class BenchSpec(Spec):
    """One benchmark: every combination of the given scenes, methods, integrators, steps and sizes."""

    scenes: Annotated[tuple[Path, ...], BeforeValidator(_read_scenes)] = Field((), description="Scene files.")
    method: Annotated[Names, BeforeValidator(_names("method", METHODS))] = Field(
        (), description="Methods, or `all`. Default: that of the scene."
    )
    integrator: Annotated[Names, BeforeValidator(_names("integrator", INTEGRATORS))] = Field(
        (), description="Integrators, or `all`. Default: that of the scene."
    )
    step: Annotated[Numbers, BeforeValidator(_quantities(units.TIME))] = Field(
        (), description="Time steps of fixed-step integrators, s."
    )
    tolerance: Annotated[Numbers, BeforeValidator(_quantities(units.NUMBER))] = Field(
        (), description="Relative tolerances of adaptive integrators."
    )
    set: Annotated[tuple[str, ...], BeforeValidator(_read_settings)] = Field(
        (), description="Values to replace in each scene, each `KEY=VALUE`."
    )
    size: Annotated[Size | None, BeforeValidator(_read_size)] = Field(
        None, description="A key of the scene and its values: `vars.n=2,4,8`."
    )
    repeat: Annotated[int, BeforeValidator(_read_repeat)] = Field(7, description="Blocks per timing.")
    accuracy: Annotated[float, Quantity(units.LENGTH, above=0.0)] | None = Field(
        None, description="Requested accuracy, m; errors are measured against a reference run."
    )
    batch: Annotated[int | None, BeforeValidator(_read_batch)] = Field(
        None, description="Number of whole runs that are timed together, by lanes where these are supported."
    )
    duration: Annotated[float, Quantity(units.TIME, above=0.0)] | None = Field(
        None, description="Simulated time, s, of the runs of `accuracy` and `batch`, and of each block of steps."
    )
    against: Annotated[Names, BeforeValidator(_names("peer", PEERS))] = Field(
        (), description="Other programs in which the scene is timed."
    )
