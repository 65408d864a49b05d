"""`mbsim bench`: how fast methods are on scenes of growing size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.render import show_table, to_json
from multibody_cli.cli.source import announce_compilation, prepare_and_warn
from multibody_cli.errors import ArgumentError, MbsimError

if TYPE_CHECKING:
    from multibody_cli.studies.bench import Growth, Measurement, Timing

SCENES = Path("scenes/bench")
"""Where scenes are taken from when none is named."""

INTERRUPTED = 130


@dataclass(frozen=True)
class Size:
    """`--size KEY=2,4,8`: a value of the scene, and what it becomes one after the other."""

    key: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Case:
    """One line of the table that is to be: a scene, the values to replace in it, and its size."""

    scene: Path
    overrides: tuple[str, ...]
    size: float | None


def _read_size(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Size | None:
    if text is None:
        return None
    key, _, values = text.partition("=")
    try:
        size = Size(key, tuple(float(value) for value in values.split(",")))
    except ValueError:
        size = Size("", ())
    if not size.key or not all(0 < value < float("inf") for value in size.values):
        raise click.BadParameter(f"expected KEY=2,4,8 with numbers above 0, found `{text}`")
    return size


@click.command("bench", cls=Verb, short_help="Measure how fast methods are.")
@click.argument("scenes", metavar="[SCENE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--method", "methods", metavar="M[,M...]", help="Methods to measure, instead of the scene's.")
@click.option("--integrator", metavar="NAME", help="Instead of the scene's.")
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Replace a value of each scene.")
@click.option("--size", metavar="KEY=2,4,8", callback=_read_size, help="Measure each scene with these values.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=7, show_default=True, help="Blocks of each timing.")
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON; `-` to stdout, without the table.")
def verb(
    scenes: tuple[Path, ...],
    methods: str | None,
    integrator: str | None,
    overrides: tuple[str, ...],
    size: Size | None,
    repeat: int,
    json_file: str | None,
) -> int:
    """Measure the time per step and per evaluation of each SCENE; without one, of those in scenes/bench.

    Nothing is written while the clock runs.  An evaluation is one computation of all accelerations.  Each
    time is the median of `--repeat` blocks of 20 ms or more, with the fastest and the slowest; the first
    call, in which kernels are compiled or loaded, stands apart.  When it is interrupted, what was measured
    is reported.
    """
    if json_file not in (None, "-"):
        Path(json_file).touch()  # better refused now than after the last measurement
    settings = [f"simulation.integrator={integrator}"] if integrator else []
    cases = list(_cases(scenes or _scenes_of_the_project(), methods, (*overrides, *settings), size))
    found: list[Measurement] = []
    status, trouble = "complete", None
    announce_compilation()
    try:
        for case in cases:
            found.append(_measure(case, repeat))
    except KeyboardInterrupt:
        status = "interrupted"
    except MbsimError as error:
        status, trouble = "failed", error
    _report(found, status, json_file)
    if trouble is not None:
        raise trouble
    return INTERRUPTED if status == "interrupted" else 0


def _scenes_of_the_project() -> Sequence[Path]:
    scenes = sorted(SCENES.glob("*.yaml"))
    if not scenes:
        raise ArgumentError(f"there is no scene in {SCENES} here: name one, as in `mbsim bench SCENE`")
    return scenes


def _cases(
    scenes: Sequence[Path], methods: str | None, overrides: tuple[str, ...], size: Size | None
) -> Iterator[Case]:
    words = [(f"simulation.method={method}",) for method in methods.split(",")] if methods else [()]
    for scene, word, value in product(scenes, words, size.values if size else (None,)):
        sized = (f"{size.key}={value:.12g}",) if size else ()
        yield Case(scene, (*overrides, *word, *sized), value)


def _measure(case: Case, repeat: int) -> Measurement:
    from multibody_cli.studies.bench import measure

    messages.note(f"{case.scene} {' '.join(case.overrides)}".rstrip())
    return measure(prepare_and_warn(case.scene, case.overrides), repeat, case.size)


def _report(found: Sequence[Measurement], status: str, json_file: str | None) -> None:
    if json_file != "-":
        show_table([_row(one) for one in found])
        for series, growths in _growths(found).items():
            for quantity, growth in growths.items():
                click.echo(f"{series}: {quantity} grows as size^{_exponent(growth)}")
    if json_file is not None:
        text = to_json(_as_data(found, status))
        if json_file == "-":
            click.echo(text)
        else:
            Path(json_file).write_text(text + "\n", encoding="utf-8")


def _row(one: Measurement) -> dict[str, Any]:
    return {
        "scene": one.scene,
        "method": one.method,
        "integrator": one.integrator,
        "size": one.size,
        "bodies": one.bodies,
        "freedoms": one.freedoms,
        "first call s": one.first_call,
        "step us": one.step.median * 1e6,
        "(min - max)": _spread(one.step),
        "evaluation us": one.evaluation.median * 1e6,
        "(min - max) ": _spread(one.evaluation),
        "steps/s": one.steps_per_second,
        "x real time": one.real_time_factor,
        "memory KiB": one.memory / 1024,
    }


def _spread(timing: Timing) -> str:
    return f"({timing.fastest * 1e6:.4g} - {timing.slowest * 1e6:.4g})"


def _growths(found: Sequence[Measurement]) -> dict[str, dict[str, Growth]]:
    """Fit the growth of each scene and method that was measured at several sizes."""
    from multibody_cli.studies.bench import growth

    series: dict[str, list[Measurement]] = {}
    for one in found:
        if one.size is not None:
            series.setdefault(f"{one.scene} {one.method} {one.integrator}", []).append(one)
    fits = {
        name: {
            quantity: growth([one.size or 0.0 for one in several], [getattr(one, quantity).median for one in several])
            for quantity in ("step", "evaluation")
        }
        for name, several in series.items()
    }
    return {name: {q: fit for q, fit in pair.items() if fit} for name, pair in fits.items()}


def _exponent(growth: Growth) -> str:
    error = "" if growth.standard_error is None else f" +- {growth.standard_error:.3f}"
    return f"{growth.exponent:.3f}{error}"


def _as_data(found: Sequence[Measurement], status: str) -> dict[str, Any]:
    from multibody_cli import __version__
    from multibody_cli.studies.bench import describe_machine

    return {
        "format": "mbsim-bench",
        "format_version": 1,
        "mbsim_version": __version__,
        "status": status,
        "machine": describe_machine(),
        "units": {"time": "s", "memory": "bytes"},
        "measurements": [asdict(one) for one in found],
        "growth": {
            name: {quantity: asdict(fit) for quantity, fit in pair.items()} for name, pair in _growths(found).items()
        },
    }
