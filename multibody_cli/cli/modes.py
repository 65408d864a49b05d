"""`mbsim modes`: frequencies, damping and shapes of small motions about a state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, SCENE, about, replaced_values
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.tables import counted, show, show_json, show_table
from multibody_cli.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multibody_cli.studies.inverse.coordinates import CoordinateName
    from multibody_cli.studies.vibration.modes import Mode, Modes

MOST_MODES = 20
"""Largest number of modes that are printed; `--json` contains all."""

MOST_SHARES = 3

MOST_COLUMNS = 6
"""Largest number of modes in one table of shapes."""

NO_AMPLITUDE = 1e-9
"""Amplitude, relative to the largest of the mode, that is printed as 0."""

IN_PHASE = 0.0087
"""Sine of half a degree: a smaller phase is printed as 0 or 180 deg."""

ROUND_OFF = 1e-12
"""Damping ratio that is printed as 0."""


@click.command("modes", cls=Verb, short_help="Compute frequencies, damping and shapes of small motions.")
@click.argument("scene", type=SCENE)
@about
@replaced_values
@click.option(
    "--campbell",
    "diagrams",
    metavar="FILE.png|svg|pdf|csv",
    type=FILE,
    multiple=True,
    help="Picture or table of the modes over a rate, with --steady COORDINATE=LOW:HIGH:COUNT.",
)
@click.option("--shapes", is_flag=True, help="Print the shapes: the amplitude of each coordinate in each mode.")
@click.option("--mode", "number", metavar="NUMBER", type=click.IntRange(1), help="With -o: the mode. Default: 1.")
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write a period of a mode as a result file (.h5).")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Write the modes as JSON, with their shapes.")
def verb(
    scene: Path,
    at: str | None,
    equilibrium: bool,
    steady: tuple[str, ...],
    overrides: tuple[str, ...],
    diagrams: tuple[Path, ...],
    shapes: bool,
    number: int | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Compute the modes of SCENE about its start, an instant of its run, its equilibrium, or a steady motion.

    About a state that moves, the modes are those relative to the motion of the scene. With `-o`, a mode is written as a
    motion, of a size that can be seen, for `mbsim render`. `--campbell` writes the frequencies and growth rates about
    steady motions with each of several rates.

    Exit code: 0; 1 if there is no equilibrium, or the run fails before TIME; 2 if an argument or the scene is rejected.
    """
    from multibody_cli.initial.singular_loop import EXACT, find_singular_loop
    from multibody_cli.output.file_replacement import require_hdf5_name, require_replaceable
    from multibody_cli.studies.inverse.coordinates import Coordinates
    from multibody_cli.studies.linearization import remark_of_kink
    from multibody_cli.studies.statics.study import OVERRIDES, read_instant, read_rates
    from multibody_cli.studies.vibration.modes import modes_of_subject
    from multibody_cli.studies.vibration.motion import record_mode
    from multibody_cli.studies.vibration.subject import subject_of

    if number is not None and output is None:
        raise ArgumentError("--mode selects the mode that -o writes: add -o FILE.h5")
    instant, rates = read_instant(at), read_rates(steady)
    if output is not None:
        require_hdf5_name(output)
        require_replaceable(output, force)
    if diagrams:
        if output is not None or as_json or shapes or equilibrium:
            raise ArgumentError("--campbell is about several steady motions: omit -o, --json, --shapes, --equilibrium")
        return _write_campbell(scene, overrides, instant, rates, diagrams, force)
    prepared = prepare_and_warn(
        scene,
        [*overrides, *OVERRIDES],
        runs=bool(instant) and not (equilibrium or rates),
        without=("loads", "rates") if equilibrium or rates else ("loads",),
    )
    with Waiting(f"computing the modes of {scene.name}"):
        subject = subject_of(prepared, instant, equilibrium, rates)
        found = modes_of_subject(subject, prepared.compiled.masses)
        singular = find_singular_loop(subject.model, subject.state, EXACT)
    if singular is not None:
        messages.warning(singular.remark)
    coordinates = Coordinates(prepared.scene, subject.model).all
    show_json(_as_data(found, [(one.name, one.iv) for one in coordinates])) if as_json else _show(found)
    if shapes and not as_json:
        _show_shapes(found, coordinates)
    if found.free:
        messages.note(f"{counted(found.free, 'exponent')} of 0: no force opposes these displacements, or these rates")
    if not found.steady:
        messages.note(
            "the state accelerates: the modes are those relative to the accelerated motion, for a short time, and "
            "depend on the coordinates; `--equilibrium` has those about an equilibrium"
        )
    if found.differences:
        messages.note(f"derivatives are differences: {found.differences}")
    for side in found.kinks:
        messages.note(remark_of_kink(side))
    for remark in found.remarks:
        messages.warning(remark)
    if output is not None:
        record_mode(prepared, subject, found, number or 1, output, force)
        messages.detail(f"wrote {output}") if as_json else show(f"wrote {output}")
    return 0


def _write_campbell(
    scene: Path,
    overrides: tuple[str, ...],
    instant: float | None,
    rates: dict[str, str | None],
    paths: tuple[Path, ...],
    force: bool,
) -> int:
    """Write the modes over a rate as tables and pictures."""
    from multibody_cli.output.file_replacement import require_replaceable
    from multibody_cli.pictures.campbell import CHART
    from multibody_cli.studies.statics.study import OVERRIDES
    from multibody_cli.studies.vibration.campbell import campbell_of, read_range

    for path in paths:
        CHART.require(path)
        require_replaceable(path, force, "--campbell")
    prepared = prepare_and_warn(scene, [*overrides, *OVERRIDES], runs=False, without=("loads", "rates"))
    values, others = read_range(prepared, instant, rates)
    with Waiting(f"computing the modes of {scene.name} at {len(values.values)} rates"):
        found = campbell_of(prepared, instant, others, values)
    for k, reason in found.failures.items():
        messages.warning(f"no modes at {values.at(k)}: {reason}")
    for remark in found.remarks:
        messages.warning(remark)
    for growth in found.growths():
        messages.note(growth)
    for path in paths:
        CHART.write(found, path)
        show(f"{path}: {counted(found.exponents.shape[1], 'mode')} at {len(values.values)} rates")
    return 0


def _show(found: Modes) -> None:
    rows = [_row(k, mode) for k, mode in enumerate(found.modes[:MOST_MODES], start=1)]
    if rows:
        show_table(rows)
    else:
        show("no modes: no force opposes or causes a small motion" if found.free else "no modes: nothing can move")
    if len(found.modes) > MOST_MODES:
        show(f"and {len(found.modes) - MOST_MODES} more: see --json")


def _show_shapes(found: Modes, coordinates: Sequence[CoordinateName]) -> None:
    """Show the amplitudes, several modes a table; coordinates that rest in all of them are left out."""
    modes = list(enumerate(found.modes[:MOST_MODES], start=1))
    for first in range(0, len(modes), MOST_COLUMNS):
        some = modes[first : first + MOST_COLUMNS]
        rows = [
            {"coordinate": one.name, "unit": one.unit, **{f"mode {k}": _amplitude(mode, one.iv) for k, mode in some}}
            for one in coordinates
            if any(_amplitude(mode, one.iv) != "0" for _, mode in some)
        ]
        show("\nshapes: amplitudes, with phases other than 0 and 180 deg" if first == 0 else "")
        show_table(rows, indent="  ")


def _amplitude(mode: Mode, iv: int) -> str:
    """Return an amplitude, negative in opposite phase, and its phase."""
    import numpy as np

    own, largest = complex(mode.shape[iv]), float(np.abs(mode.shape).max())
    if abs(own) <= NO_AMPLITUDE * largest:
        return "0"
    if abs(own.imag) <= IN_PHASE * abs(own):
        return f"{own.real:.4g}"
    return f"{abs(own):.4g} at {np.degrees(np.angle(own)):.0f} deg"


def _row(k: int, mode: Mode) -> dict[str, Any]:
    bodies, elements = (
        ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:MOST_SHARES])
        for shares in (mode.bodies, mode.elements)
    )
    oscillates, ratio = mode.kind == "oscillates", mode.damping_ratio
    if abs(ratio) < ROUND_OFF:
        ratio = 0.0
    real = -ratio * abs(mode.exponent)
    return {
        "mode": k,
        "frequency Hz": mode.damped_frequency if oscillates else None,
        "damping ratio": ratio if oscillates else None,
        "exponent 1/s": f"{real + 0.0:.5g}" + (f" +- {mode.exponent.imag:.5g}i" if oscillates else ""),
        "motion": mode.kind,
        "bodies": bodies,
        "elements": elements,
    }


def _as_data(found: Modes, names: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "modes": [
            {
                "kind": mode.kind,
                "exponent": [mode.exponent.real, mode.exponent.imag],
                "frequency": mode.damped_frequency,
                "natural_frequency": mode.frequency,
                "damping_ratio": mode.damping_ratio,
                "bodies": dict(mode.bodies),
                "elements": dict(mode.elements),
                "shape": {
                    name: [float(mode.shape[iv].real), float(mode.shape[iv].imag)]
                    for name, iv in names
                    if mode.shape[iv] != 0.0
                },
            }
            for mode in found.modes
        ],
        "undamped_frequencies": [float(value) for value in found.undamped],
        "free_exponents": found.free,
        "steady": found.steady,
        "kinks": list(found.kinks),
        "remarks": list(found.remarks),
        "derivatives": "differences" if found.differences else "exact",
    }
