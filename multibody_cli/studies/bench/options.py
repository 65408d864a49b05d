"""Options of a benchmark, on the command line and in suites: named sets of benchmarks, each a YAML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError

from multibody_cli.document.document import read_document
from multibody_cli.document.nodes import Problems, plain
from multibody_cli.errors import ArgumentError, QuantityError, nearest
from multibody_cli.limits import Usage
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.peers import PEERS
from multibody_cli.scene.explain import explain
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.quantities import format_value, read_each

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


def _quantities(kind: units.QuantityKind) -> Callable[[Any], tuple[float, ...]]:
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


def _whole(least: int, most: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers within bounds."""

    def read(value: Any) -> int:
        number = int(value) if isinstance(value, str) and value.isdecimal() else value
        if type(number) is not int or not least <= number <= most:
            raise QuantityError(f"expected a whole number from {least} to {most}, found {format_value(value)}")
        return number

    return read


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
    repeat: Annotated[int, BeforeValidator(_whole(1, 1000))] = Field(7, description="Blocks per timing.")
    accuracy: Annotated[float, Quantity(units.LENGTH, above=0.0)] | None = Field(
        None, description="Requested accuracy, m; errors are measured against a reference run."
    )
    batch: Annotated[int | None, BeforeValidator(_whole(2, 10_000_000))] = Field(
        None, description="Number of whole runs that are timed together, by lanes where these are supported."
    )
    duration: Annotated[float, Quantity(units.TIME, above=0.0)] | None = Field(
        None, description="Simulated time, s, of the runs of `accuracy` and `batch`, and of each block of steps."
    )
    against: Annotated[Names, BeforeValidator(_names("peer", PEERS))] = Field(
        (), description="Other programs in which the scene is timed."
    )


def bench_scenes() -> Path:
    """Return the folder of the project's benchmarks: beside the package in a checkout, in it if it is installed."""
    package = Path(__file__).parents[2]
    beside, inside = package.parent / "scenes" / "bench", package / "scenes" / "bench"
    folder = beside if beside.is_dir() else inside
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


class SuiteSpec(Spec):
    """A named set of benchmarks."""

    description: str = Field("", description="What the suite is for.")
    benches: list[BenchSpec] = Field(min_length=1, description="The benchmarks, one after the other.")


def read_suite(name: str) -> list[BenchSpec]:
    """Read a suite.

    Parameters
    ----------
    name
        Name of a suite of the project, or path of any other file. Scene paths in it are relative to the file.

    Raises
    ------
    ArgumentError
        The suite does not exist; the message lists the existing ones.
    SceneError
        With all problems of the file.
    """
    path = _path_of(name)
    problems = Problems()
    tree = read_document(path, str(path), problems, Usage())
    try:
        suite = SuiteSpec.model_validate(plain(tree))
    except ValidationError as error:
        for where, message in explain(error, SuiteSpec):
            problems.add_at(tree, where, message)
    problems.raise_any()
    return [
        bench.model_copy(
            update={"scenes": tuple(Path(os.path.normpath(path.parent / scene)) for scene in bench.scenes)}
        )
        for bench in suite.benches
    ]


def _path_of(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".yaml" or len(path.parts) > 1:
        return path
    suites = bench_scenes() / "suites"
    path = suites / f"{name}.yaml"
    if not path.is_file():
        there = sorted(suite.stem for suite in suites.glob("*.yaml"))
        raise ArgumentError(f"no suite `{name}`: {nearest(name, there)}; available: {', '.join(there)}")
    return path
