"""`mbsim inverse`: forces that cause a measured motion, and muscles that supply them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, SCENE, replaced_values
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import FROM, TO, prepare_and_warn
from multibody_cli.cli.tables import counted, show, show_json, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multibody_cli.output.table_formats import Column
    from multibody_cli.spec.units import QuantityKind
    from multibody_cli.studies.inverse.fitted_motion import Misfit
    from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
    from multibody_cli.studies.inverse.kinematic_analysis import Kinematics
    from multibody_cli.studies.inverse.study import InverseProblem
    from multibody_cli.studies.simulation import PreparedSimulation

WEAK = 0.05
"""Largest reserve, relative to the largest force on the coordinate, that muscles are strong enough for."""

MOST_NAMES = 5
"""Largest number of names that a message lists."""

WEIGHT = click.option(
    "--weight",
    "weights",
    metavar="NAME=NUMBER",
    multiple=True,
    help="Weight of a marker, pose or coordinate in the fit.  Default: 1.",
)

FILTER = click.option(
    "--filter", "cutoff", metavar="HZ", type=float, help="Remove frequencies above this one from the motion."
)


@click.command("inverse", cls=Verb, short_help="Compute the forces that cause a measured motion.")
@click.argument("scene", type=SCENE)
@click.option(
    "--motion",
    metavar="FILE",
    required=True,
    type=PATH,
    help="Motion: a table of coordinates, markers or poses, or a result file.",
)
@click.option(
    "--loads",
    metavar="FILE",
    multiple=True,
    help="Forces on bodies: ExternalLoads of OpenSim (.xml), those of contacts in a result file, or "
    "BODY=TABLE:FORCE,POINT,TORQUE.",
)
@WEIGHT
@FILTER
@click.option("--on", "forces_on", metavar="COORDINATE", multiple=True, help="A coordinate with a force.")
@click.option(
    "--contacts",
    metavar="GAP",
    help="Let contacts with a gap up to this one, as 1mm, carry forces within the friction cones.",
)
@click.option("--slip", metavar="SPEED", help="With --contacts: speed above which contacts slide.  Default: 1 mm/s.")
@click.option("--muscles", is_flag=True, help="Let muscles supply the forces, by static optimization.")
@click.option("--passive", is_flag=True, help="With --muscles: include passive forces of fibers.")
@click.option(
    "--reserve",
    metavar="FORCE",
    type=float,
    default=1.0,
    show_default=True,
    help="With --muscles: optimal force of the reserve actuators, N or N*m.",
)
@FROM
@TO
@replaced_values
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Result file (.h5), or table of forces (.sto, .csv, ...).  Default: outputs/SCENE-inverse.h5.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON.")
def verb(
    scene: Path,
    motion: Path,
    loads: tuple[str, ...],
    weights: tuple[str, ...],
    cutoff: float | None,
    forces_on: tuple[str, ...],
    contacts: str | None,
    slip: str | None,
    muscles: bool,
    passive: bool,
    reserve: float,
    start: float | None,
    end: float | None,
    overrides: tuple[str, ...],
    outputs: tuple[Path, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Compute the forces on the coordinates of SCENE that cause a motion.

    The columns of FILE are `time` and coordinates: by their names in a model of OpenSim, by joints, `hinge` or
    `wrist/1`, or by channels, `joints/hinge/q`. Coordinates that loops and couplings determine follow. Columns of
    places, `tip_x` of a point `tip` or `bodies/hand/position[x]`, and of orientations, `bodies/hand/quaternion[w]`, and
    markers in a file .trc, are fitted by all coordinates, within loops and limits, by weighted least squares.

    Springs, gravity and all other forces of the scene act; actuators and muscles of the scene are unknown, and do not.

    With `--contacts`, closed contacts and drives cause the motion with the least sum of squares. Drives are the
    coordinates of `--on`, or those on which actuators of the scene act; a force on any other coordinate is a residual.

    With `--muscles`, the activations of muscles have the least sum of squares at each instant; reserve actuators supply
    the part that muscles cannot.  With `--contacts` too, contact forces count relative to the strongest muscle.

    Each `-o` writes a file: a result file with the motion, the forces as actuators with the names of the coordinates,
    and the activations of muscles, for `mbsim plot` and `mbsim render`; or a table of the forces.

    Exit code: 0; 1 if loops or constraints cannot be satisfied; 2 if an argument, the scene or a file is rejected.
    """
    from multibody_cli.errors import ArgumentError, SceneError
    from multibody_cli.spec import units
    from multibody_cli.studies.inverse.closed_contacts import SLIP
    from multibody_cli.studies.inverse.loads import with_loads, with_option
    from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question

    source = with_loads(scene, loads)
    try:
        prepared = prepare_and_warn(
            scene, [*overrides, *OVERRIDES], source=source if loads else None, without=("rates",)
        )
    except SceneError as error:
        raise with_option(error, source) if loads else error from None
    name = prepared.scene.name
    targets = outputs or (Path("outputs") / f"{name}-inverse.h5",)
    require_targets(targets, force)
    if slip is not None and contacts is None:
        raise ArgumentError("--slip has no effect without --contacts")
    gap = None if contacts is None else _measure("--contacts", contacts, units.LENGTH)
    speed = SLIP if slip is None else _measure("--slip", slip, units.SPEED)
    question = Question(motion, forces_on, muscles, passive, reserve, cutoff, start, end, weights, gap, speed)
    problem = InverseProblem(prepared, question)
    with Waiting(f"solving {motion.name}"):
        found = _solve(prepared, problem, targets, force)
    show_json(_as_data(found)) if as_json else _show(found)
    _remark(found)
    for target in targets:
        messages.detail(f"wrote {target}") if as_json else show(target)
    return 0


def _measure(option: str, text: str, kind: QuantityKind) -> float:
    """Return the number of an option, which is not negative, in SI units."""
    from multibody_cli.errors import ArgumentError, QuantityError
    from multibody_cli.spec.quantities import Quantity

    try:
        return Quantity(kind, least=0.0).read(text)
    except QuantityError as error:
        raise ArgumentError(f"{option} {text}: {error}") from None


def require_targets(targets: Sequence[Path], force: bool) -> None:
    """Refuse files of other formats, more than one result file, and existing ones without `force`."""
    from multibody_cli.errors import ArgumentError
    from multibody_cli.output.file_replacement import HDF5_ENDINGS, require_replaceable
    from multibody_cli.output.table_formats import format_of

    results = result_files(targets)
    for target in targets:
        if target not in results:
            format_of(target, HDF5_ENDINGS)
        require_replaceable(target, force)
    if len(results) > 1:
        raise ArgumentError("-o: expected one result file")


def _solve(
    prepared: PreparedSimulation, problem: InverseProblem, targets: Sequence[Path], force: bool
) -> InverseDynamics:
    """Solve the problem, and write the files."""
    from multibody_cli.studies.inverse.table import force_columns

    results = result_files(targets)
    if results:
        from multibody_cli.output.hdf5 import Hdf5Sink
        from multibody_cli.studies.inverse.recording import solve_and_record
        from multibody_cli.studies.recording import channels_of

        sink = Hdf5Sink(results[0], channels_of(problem.drives.model.names), force=force)
        found = solve_and_record(prepared, problem, sink)
    else:
        found = problem.solve()
    write_tables(targets, force_columns(found))
    return found


def result_files(targets: Sequence[Path]) -> list[Path]:
    """Return the result file among files to write; at most one."""
    from multibody_cli.output.file_replacement import HDF5_ENDINGS

    return [target for target in targets if target.suffix.lower() in HDF5_ENDINGS]


def write_tables(targets: Sequence[Path], columns: Sequence[Column]) -> None:
    """Write columns to the tables among files to write."""
    from multibody_cli.output.table_formats import ColumnTable, format_of

    for target in targets:
        if target not in result_files([target]):
            format_of(target).replace(ColumnTable(tuple(columns)), target)


def _show(found: InverseDynamics) -> None:
    count = len(found.times)
    show(f"{counted(count, 'instant')} from {found.times[0]:g} s to {found.times[-1]:g} s")
    show_table([*_rows(found)], indent="  ")
    if found.misfits:
        show("\nfit")
        show_table(misfit_rows(found.misfits), indent="  ")
    if found.contacts:
        show("\ncontacts")
        show_table([*_contact_rows(found)], indent="  ")
    if found.muscles:
        show("\nmuscles")
        show_table([*_muscle_rows(found)], indent="  ")


def _rows(found: InverseDynamics) -> list[dict[str, Any]]:
    """Return a row for each coordinate with a force."""
    import numpy as np

    from multibody_cli.studies.inverse.table import kind_of

    rows = []
    for k, one in enumerate(found.coordinates):
        force = found.forces[:, k]
        row = {
            "coordinate": one.name,
            "largest force": float(np.abs(force).max()),
            "root mean square": float(np.sqrt(np.mean(force**2))),
            "unit": kind_of(one)[1],
        }
        if found.muscles:
            row["largest reserve"] = float(np.abs(found.reserves[:, k]).max())
        if found.residuals:
            row["supplied by"] = "nothing: residual" if one.name in found.residuals else "muscles or actuators"
        rows.append(row)
    return rows


def misfit_rows(misfits: Sequence[Misfit]) -> list[dict[str, Any]]:
    """Return a row for each measured quantity."""
    return [
        {
            "measured": one.name,
            "root mean square": one.root_mean_square,
            "largest": one.largest,
            "at s": one.time,
            "unit": one.unit,
        }
        for one in misfits
    ]


def _contact_rows(found: InverseDynamics) -> list[dict[str, Any]]:
    """Return a row for each body with closed contacts."""
    import numpy as np

    counts = [Counter(name for one in own for name in one[:2]) for own in found.contacts]
    rows = []
    for name in dict.fromkeys(name for own in counts for name in own):
        sizes = np.linalg.norm(found.contact_force(name), axis=1)
        rows.append(
            {
                "body": name,
                "most contacts": max(own[name] for own in counts),
                "instants": sum(name in own for own in counts),
                "largest force N": float(sizes.max()),
                "root mean square N": float(np.sqrt(np.mean(sizes**2))),
            }
        )
    return rows


def _muscle_rows(found: InverseDynamics) -> list[dict[str, Any]]:
    return [
        {
            "muscle": name,
            "largest activation": float(found.activations[:, k].max()),
            "mean activation": float(found.activations[:, k].mean()),
            "largest tension N": float(found.tensions[:, k].max()),
        }
        for k, name in enumerate(found.muscles)
    ]


def _remark(found: InverseDynamics) -> None:
    """Report everything that differs from the table, forces that do not act, and muscles that are too weak."""
    from multibody_cli.errors import listed

    remark(found)
    if found.left_out:
        messages.note(f"unknown forces, which do not act: {listed([*found.left_out], MOST_NAMES, 'actuators')}")
    for text in found.weaknesses(WEAK):
        messages.warning(text)


def remark(found: InverseDynamics | Kinematics) -> None:
    """Report everything that differs from the table."""
    from multibody_cli.errors import listed

    if found.ignored:
        messages.note(f"columns that move nothing: {listed([*found.ignored], MOST_NAMES, 'columns')}")
    if found.held:
        messages.warning(
            f"neither the motion nor the constraints determine {listed([*found.held], MOST_NAMES, 'coordinates')}: "
            "they keep the values of the start"
        )
    if found.changes:
        name = max(found.changes, key=lambda key: found.changes[key])
        messages.warning(
            f"the constraints contradict the motion of {listed([*found.changes], MOST_NAMES, 'coordinates')}, and "
            f"change it as little as possible: {name} by {found.changes[name]:.3g} rad or m"
        )
    for text in found.remarks:
        messages.warning(text)


def _as_data(found: InverseDynamics) -> dict[str, Any]:
    return {
        "instants": len(found.times),
        "start": float(found.times[0]),
        "end": float(found.times[-1]),
        "coordinates": _rows(found),
        "contacts": _contact_rows(found),
        "muscles": _muscle_rows(found),
        "fit": misfit_rows(found.misfits),
        "residuals": list(found.residuals),
        "held": list(found.held),
        "changes": found.changes,
        "ignored": list(found.ignored),
        "left_out": list(found.left_out),
        "remarks": list(found.remarks),
        "weaknesses": found.weaknesses(WEAK),
    }
