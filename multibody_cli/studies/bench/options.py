"""Options and cases of benchmarks, on the command line and in suites: named sets, each a YAML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError

from multibody_cli.document.document import read_document
from multibody_cli.errors import ArgumentError, QuantityError, nearest
from multibody_cli.immutable import Immutable, asdict
from multibody_cli.limits import Usage
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.nodes import Problems, plain
from multibody_cli.peers import PEERS
from multibody_cli.scene.explain import explain
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.quantities import format_value, read_each
from multibody_cli.studies.simulation import PreparedSimulation

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


def _names(noun: str, catalogue: Collection[str]) -> Callable[[Any], tuple[str, ...]]:
    """Return a reader of names of a catalogue, or of `all`."""

    def read(name: Any) -> str:
        if name != ALL and name not in catalogue:
            raise ValueError(f"unknown {noun} {format_value(name)}: {nearest(str(name), [*catalogue, ALL])}")
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


def _listed(noun: str, kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """Return a reader of texts of a kind, or of a single one."""

    def read(value: Any) -> tuple[Any, ...]:
        texts = value if isinstance(value, list | tuple) else [value]
        if not texts or not all(isinstance(text, str | kind) for text in texts):
            raise QuantityError(f"expected {noun} or a list of these, found {format_value(value)}")
        return tuple(map(kind, texts))

    return read


Names = tuple[str, ...]
Numbers = tuple[float, ...]


class BenchSpec(Spec):
    """One benchmark: every combination of the given scenes, methods, integrators, steps and sizes."""

    scenes: Annotated[tuple[Path, ...], BeforeValidator(_listed("the path of a scene", Path))] = Field(
        (), description="Scene files."
    )
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
    set: Annotated[tuple[str, ...], BeforeValidator(_listed("KEY=VALUE", str))] = Field(
        (), description="Values to replace in each scene, each `KEY=VALUE`."
    )
    size: Annotated[Size | None, BeforeValidator(_read_size)] = Field(
        None, description="A key of the scene and its values: `vars.n=2,4,8`."
    )
    repeat: int = Field(7, ge=1, le=1000, description="Blocks per timing.")
    accuracy: Annotated[float, Quantity(units.LENGTH, above=0.0)] | None = Field(
        None, description="Requested accuracy, m; errors are measured against a reference run."
    )
    batch: int | None = Field(
        None, ge=2, le=10_000_000, description="Runs that are timed together, by lanes where these are supported."
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

    description: str = Field("", description="The purpose of the suite.")
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


OUTPUT_DISABLED = ("output={}", "expect=[]")
"""Overrides that disable output and expectations, which other steps and durations could not meet."""


class BenchCase(Immutable):
    """One requested run; fields that are None are as in the scene.

    Parameters
    ----------
    method, integrator
        Names.
    step, tolerance
        Time step, s, and relative tolerance; an integrator uses one of them.
    """

    method: str | None = None
    integrator: str | None = None
    step: float | None = None
    tolerance: float | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The case as overrides of the scene."""
        given = ((key, value) for key, value in asdict(self).items() if value is not None)
        return tuple(f"simulation.{key}={_written(value)}" for key, value in given)


class Group(Immutable):
    """The cases of one scene at one size, which are compared with each other.

    Parameters
    ----------
    scene
        The scene file.
    settings
        Overrides of the user for all cases.
    size, size_key
        The value of `--size`, and the key of the scene that it replaces.
    duration
        Simulated time, s, if not that of the scene.
    cases
        The cases.
    """

    scene: Path
    settings: tuple[str, ...]
    size: float | None
    size_key: str | None
    duration: float | None
    cases: tuple[BenchCase, ...]

    @property
    def sizing(self) -> tuple[str, ...]:
        """The size as an override of the scene."""
        return () if self.size is None else (f"{self.size_key}={_written(self.size)}",)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Overrides of all cases."""
        lasting = () if self.duration is None else (f"simulation.duration={_written(self.duration)}",)
        return (*OUTPUT_DISABLED, *self.settings, *self.sizing, *lasting)


def groups_of(spec: BenchSpec) -> Iterator[Group]:
    """Yield the groups of a benchmark, by scene and size."""
    every = product(spec.method or (None,), spec.integrator or (None,))
    # a method may have its own integrator
    pairs = ((one, None if one and METHODS[one].own_integrator else integrator) for one, integrator in every)
    cases = tuple(
        BenchCase(method, integrator, step, tolerance)
        for method, integrator in dict.fromkeys(pairs)
        for step, tolerance in product(*_steppings(spec, method, integrator))
    )
    for scene, value in product(spec.scenes, spec.size.values if spec.size else (None,)):
        yield Group(scene, spec.set, value, spec.size.key if spec.size else None, spec.duration, cases)


def _steppings(
    spec: BenchSpec, method: str | None, integrator: str | None
) -> tuple[Sequence[float | None], Sequence[float | None]]:
    """Return the steps and the tolerances; both if the integrator is that of the scene."""
    own = METHODS[method].own_integrator if method is not None else None
    chosen = own or (INTEGRATORS[integrator] if integrator is not None else None)
    adaptive = None if chosen is None else chosen.adaptive
    steps = (None,) if adaptive is True else spec.step or (None,)
    tolerances = (None,) if adaptive is False else spec.tolerance or (None,)
    return steps, tolerances


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


class Setup(Immutable):
    """A scene with its settings; of a case that was not measured, None is as in the scene.

    Parameters
    ----------
    scene, method, integrator
        Names.
    time_step
        Time step, s; of an adaptive integrator, the initial step.
    tolerance
        Relative tolerance of an adaptive integrator, else None.
    settings
        Overrides of the scene, each `KEY=VALUE`.
    size, size_key
        The value of `--size`, and the key of the scene that it replaces; None without it.
    """

    scene: str
    method: str | None
    integrator: str | None
    time_step: float | None
    tolerance: float | None
    settings: tuple[str, ...]
    size: float | None
    size_key: str | None

    @property
    def stepping(self) -> str:
        """The step or tolerance as text."""
        if self.tolerance is not None:
            return f"rtol {self.tolerance:.6g}"
        return "" if self.time_step is None else f"{self.time_step:.6g} s"

    @property
    def description(self) -> str:
        """Method, integrator (if the method has none of its own) and stepping, as text."""
        name = " with ".join(f"`{word}`" for word in (self.method, self.integrator) if word)
        return f"{name} at {self.stepping}"


def setup_of(
    simulation: PreparedSimulation,
    settings: tuple[str, ...] = (),
    size: float | None = None,
    size_key: str | None = None,
) -> Setup:
    """Return the `Setup` of a scene."""
    name, own = simulation.scene.name, simulation.scene.simulation
    integrator = integrator_of(own.method, own.integrator, own.options)
    tolerance = own.tolerance.rtol if integrator.adaptive else None
    return Setup(name, own.method, integrator.name, own.step, tolerance, settings, size, size_key)
