"""`mbsim kinematics`: motion without forces, singular positions and four-bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.inverse import FILTER, WEIGHT, misfit_rows, remark, require_targets, result_files, write_tables
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, SCENE, replaced_values
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import FROM, TO, prepare_and_warn
from multibody_cli.cli.tables import counted, show, show_json, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multibody_cli.studies.inverse.kinematic_analysis import Kinematics
    from multibody_cli.studies.simulation import PreparedSimulation

MOST_NAMES = 5
"""Largest number of names that a message lists."""


@click.command("kinematics", cls=Verb, short_help="Compute a motion without forces, and its singular positions.")
@click.argument("scene", type=SCENE)
@click.option("--motion", metavar="FILE", type=PATH, help="Motion, as for `inverse`.  Default: that of the scene.")
@click.option("--on", "driving", metavar="COORDINATE", multiple=True, help="A coordinate that drives.")
@WEIGHT
@FILTER
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
    help="Result file (.h5), or table of the motion (.csv, .sto, ...).  Default: outputs/SCENE-kinematics.h5.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON.")
def verb(
    scene: Path,
    motion: Path | None,
    driving: tuple[str, ...],
    weights: tuple[str, ...],
    cutoff: float | None,
    start: float | None,
    end: float | None,
    overrides: tuple[str, ...],
    outputs: tuple[Path, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Compute positions, rates and accelerations of SCENE without forces, and its singular positions.

    The motion is that of FILE, a table of coordinates, markers or poses, or a result file, as for `mbsim inverse`;
    without one it is that of the `motion` of joints. Masses and forces have no effect.

    Singular positions are those in which the coordinates that drive do not determine the others to first order: dead
    centres, and branching points, where the rank of the constraint Jacobian drops. They are located between the
    instants. `--on` names the coordinates that drive; by default they are the first that determine the motion.

    Loops of four hinges with parallel axes have their Grashof class, and their transmission angle as a channel.

    Each `-o` writes a file: a result file with the motion, the four-bars and the singular positions as events, for
    `mbsim plot` and `mbsim render`; or a table.

    Exit code: 0; 1 if loops or constraints cannot be satisfied; 2 if an argument, the scene or a file is rejected.
    """
    from multibody_cli.studies.inverse.kinematic_analysis import KinematicProblem
    from multibody_cli.studies.inverse.study import OVERRIDES, Question

    prepared = prepare_and_warn(scene, [*overrides, *OVERRIDES], without=("rates", "loads"))
    targets = outputs or (Path("outputs") / f"{prepared.scene.name}-kinematics.h5",)
    require_targets(targets, force)
    problem = KinematicProblem(
        prepared, Question(motion, driving, cutoff=cutoff, start=start, end=end, weights=weights)
    )
    with Waiting(f"solving {prepared.scene.name}"):
        found = problem.solve()
        _write(prepared, found, targets, force)
    show_json(_as_data(found)) if as_json else _show(found)
    remark(found)
    for target in targets:
        messages.detail(f"wrote {target}") if as_json else show(target)
    return 0


def _write(prepared: PreparedSimulation, found: Kinematics, targets: Sequence[Path], force: bool) -> None:
    from multibody_cli.studies.inverse.table import motion_columns

    for result in result_files(targets):
        from multibody_cli.output.hdf5 import Hdf5Sink
        from multibody_cli.studies.inverse.recording import model_of, record_kinematics
        from multibody_cli.studies.recording import channels_of_motion

        sink = Hdf5Sink(result, channels_of_motion(model_of(prepared, found).names), force=force)
        record_kinematics(prepared, found, sink)
    write_tables(targets, motion_columns(found))


def _show(found: Kinematics) -> None:
    count = len(found.times)
    show(f"{counted(count, 'instant')} from {found.times[0]:g} s to {found.times[-1]:g} s")
    show_table(_rows(found), indent="  ")
    for title, rows in (
        ("fit", misfit_rows(found.misfits)),
        ("four-bars", _linkage_rows(found)),
        ("singular positions", _singular_rows(found)),
    ):
        if rows:
            show(f"\n{title}")
            show_table(rows, indent="  ")


def _rows(found: Kinematics) -> list[dict[str, Any]]:
    import numpy as np

    return [
        {
            "coordinate": one.name,
            "least": float(found.q[:, k].min()),
            "largest": float(found.q[:, k].max()),
            "largest rate": float(np.abs(found.v[:, k]).max()),
            "largest acceleration": float(np.abs(found.a[:, k]).max()),
            "unit": one.unit,
        }
        for k, one in enumerate(found.coordinates)
    ]


def _linkage_rows(found: Kinematics) -> list[dict[str, Any]]:
    import numpy as np

    return [
        {
            "hinges": " ".join(one.bar.joints),
            "class": one.kind,
            "branch": " ".join(one.branches),
            **dict(zip(("frame m", "input m", "coupler m", "output m"), map(float, one.lengths), strict=True)),
            "least transmission deg": float(np.degrees(one.transmission.min())),
            "largest deg": float(np.degrees(one.transmission.max())),
        }
        for one in found.linkages
    ]


def _singular_rows(found: Kinematics) -> list[dict[str, Any]]:
    return [
        {"at s": one.position.time, "kind": one.kind, "moves": " ".join(one.moves[:MOST_NAMES])}
        for one in found.singularities
    ]


def _as_data(found: Kinematics) -> dict[str, Any]:
    return {
        "instants": len(found.times),
        "start": float(found.times[0]),
        "end": float(found.times[-1]),
        "coordinates": _rows(found),
        "driving": list(found.driving),
        "fit": misfit_rows(found.misfits),
        "four_bars": _linkage_rows(found),
        "singular_positions": _singular_rows(found),
        "held": list(found.held),
        "changes": found.changes,
        "ignored": list(found.ignored),
        "remarks": list(found.remarks),
    }
