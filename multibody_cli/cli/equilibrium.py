"""`mbsim equilibrium`: static equilibrium of a scene, or steady motion, and its stability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, SCENE, replaced_values
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import prepare_and_warn, scene_of
from multibody_cli.cli.tables import counted, show, show_json, show_table

if TYPE_CHECKING:
    from multibody_cli.studies.statics.study import Statics

CERTAIN = 1e-9
"""Component of a force of contact, relative to the largest, that is more than the error of a position of rest."""

MOST_ROWS = 40
"""Largest number of lines of a table; `--json` contains all."""


@click.command("equilibrium", cls=Verb, short_help="Compute the static equilibrium of a scene.")
@click.argument("scene", type=SCENE)
@click.option("--at", metavar="TIME", help="Instant of prescribed motions and of inputs, as in 2s.  Default: 0 s.")
@click.option(
    "--steady",
    metavar="COORDINATE[=RATE]",
    multiple=True,
    help="A coordinate with a constant rate, rad/s or m/s; by default that of the start.",
)
@replaced_values
@click.option("--write", metavar="NEW.yaml", type=FILE, help="Write the scene with this start.")
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write a result file (.h5) with this instant.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Write the equilibrium as JSON.")
def verb(
    scene: Path,
    at: str | None,
    steady: tuple[str, ...],
    overrides: tuple[str, ...],
    write: Path | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Compute the static equilibrium that SCENE reaches from its start without inertia.

    Coordinates with a `motion` have their values at TIME, and activations of muscles theirs. Loops and constraints
    hold; limits and ropes press or are open. With `--steady`, coordinates have constant rates, and all others rest, as
    in a governor.

    The stability is that of the second variation of the energy. From an unstable equilibrium, the equilibria to both
    sides of it are listed as well.

    Exit code: 0; 1 if there is no equilibrium, or it was not found; 2 if an argument or the scene is rejected.
    """
    from multibody_cli.output.file_replacement import require_hdf5_name, require_replaceable
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.studies.recording import channels_of
    from multibody_cli.studies.statics.files import record, require_scene_name, write_scene
    from multibody_cli.studies.statics.study import OVERRIDES, StaticProblem, read_instant, read_rates

    instant, rates = read_instant(at), read_rates(steady)
    if write is not None:
        require_scene_name(write)
    if output is not None:
        require_hdf5_name(output)
    for option, target in (("--write", write), ("-o", output)):
        if target is not None:
            require_replaceable(target, force, option)
    prepared = prepare_and_warn(scene, [*overrides, *OVERRIDES], runs=False, without=("rates", "loads"))
    problem = StaticProblem(prepared, instant, rates)
    with Waiting(f"balancing {scene.name}"):
        found = problem.solve()
    show_json(as_data(found)) if as_json else _show(found)
    _remark(found)
    if write is not None:
        from multibody_cli.scene.load import load_scene

        write_scene(load_scene(scene_of(scene), overrides), problem.model, found, write)
        for one in prepared.compiled.model.controllers:
            if any(update.delay for update in one.updates):
                messages.warning(
                    f"{write}: `actuators.{one.name}` has no force until its delay, and the scene does not stay at "
                    "rest: write `simulation.start: equilibrium`, with which it has its force from the start"
                )
    if output is not None:
        record(prepared, problem, found, Hdf5Sink(output, channels_of(problem.model.names), force=force))
    for target in filter(None, (write, output)):
        messages.detail(f"wrote {target}") if as_json else show(f"wrote {target}")
    return 0


def _show(found: Statics) -> None:
    noun = "steady motion" if found.found.state.v.any() else "equilibrium"
    show(f"{noun} at t = {found.time:g} s after {counted(found.found.steps, 'step')}: {_stability(found)}")
    _show_part([*_coordinate_rows(found)])
    if found.rows:
        show("\nactive limits, loops and constraints")
        _show_part([{"element": one.element, "direction": one.direction, "force": one.force} for one in found.rows])
    if found.contacts:
        show("\ncontacts")
        _show_part([_contact_row(pair, *map(float, force)) for pair, force in found.contacts.items()])
    if found.drives:
        show("\nforces that hold coordinates")
        _show_part([{"coordinate": name, "force": force} for name, force in found.drives.items()])
    for k, other in enumerate(found.others, start=1):
        show(f"\nbeside it, equilibrium {k}: {_stability(other)}")
        _show_part([*_coordinate_rows(other)])


def _show_part(rows: list[dict[str, Any]]) -> None:
    show_table(rows[:MOST_ROWS], indent="  ")
    if len(rows) > MOST_ROWS:
        show(f"  and {len(rows) - MOST_ROWS} more: see --json")


def _stability(found: Statics) -> str:
    one = found.found
    if found.reason:
        return f"held by contacts or friction, of unknown stability, since {found.reason}"
    if found.held:
        return f"{_second_variation(found)}; held by contacts or friction, to {one.residual:.1e} of the forces"
    return _second_variation(found)


def _second_variation(found: Statics) -> str:
    one = found.found
    if len(one.stiffness) == 0:
        return "stable, since nothing can move"
    unit = next((each.unit for each in found.coordinates if each.name == found.softest), "1")
    least = f"least stiffness {one.stiffness[0]:.4g} J per ({found.unit_displacement:.4g} {unit})^2, of {found.softest}"
    if one.sides is not None and found.stability == "unknown":
        return f"of unknown stability, since {one.sides.reason}; {least}"
    if one.touched:
        rows = f"{counted(one.touched, 'limit')} that {'touches' if one.touched == 1 else 'touch'} without force"
        return (
            f"{found.stability} in the displacements that {rows} {'allows' if one.touched == 1 else 'allow'}; {least}"
        )
    if found.stability == "unstable":
        return f"unstable in {counted(one.unstable, 'direction')}, {least}"
    if found.stability == "neutral":
        return f"neutral in {counted(one.neutral, 'direction')}"
    if found.stability == "unknown":
        return f"of unknown stability, since the forces have no potential: `mbsim modes` decides it; {least}"
    return f"stable, {least}"


def _contact_row(pair: str, *force: float) -> dict[str, Any]:
    """Return the row of a force, without components of round-off."""
    largest = max(map(abs, force))
    return {"pair": pair} | {
        f"{axis} N": value if abs(value) > CERTAIN * largest else 0.0 for axis, value in zip("xyz", force, strict=True)
    }


def _coordinate_rows(found: Statics) -> list[dict[str, Any]]:
    return [
        {"coordinate": one.name, "value": float(value), "change": float(change), "unit": one.unit}
        for one, value, change in zip(found.coordinates, found.values, found.changes, strict=True)
    ]


def _remark(found: Statics) -> None:
    """Report if the equilibrium or its forces are not unique."""
    if found.reason:
        messages.note("contacts and friction may hold others nearby as well: this is the one that the start leads to")
    if found.set_dimension:
        words = counted(found.set_dimension, "dimension")
        messages.note(
            f"friction holds others nearby as well: this is one of a set of {words}, to which the start leads"
        )
    if found.stability == "neutral":
        words = counted(found.found.neutral, "direction")
        messages.note(
            f"nothing opposes small displacements to first order in {words}: the equilibrium is one of a continuum, or "
            "forces of higher order decide"
        )
    for side in found.kinks:
        messages.note(f"a force has a kink at this equilibrium: the stiffness is that of the side on which {side}")
    if found.redundant and found.held:
        words = counted(found.redundant, "dimension")
        messages.note(f"the forces of contacts and rows are one of a set of {words}, of least squares")
    elif found.redundant:
        rows = f"{found.redundant} of {counted(len(found.rows), 'active row')}"
        messages.note(f"{rows} depend on others: the forces of rows are one of many distributions, of least squares")


def as_data(found: Statics) -> dict[str, Any]:
    """Return an equilibrium as data for JSON."""
    one = found.found
    return {
        "time": found.time,
        "coordinates": _coordinate_rows(found),
        "residual": one.residual,
        "steps": one.steps,
        "stability": found.stability,
        "stiffness": [float(value) for value in one.stiffness],
        "derivatives": found.derivatives,
        "kinks": list(found.kinks),
        "stiffness_of_sides": [] if one.sides is None else [side.tolist() for side in one.sides.stiffness],
        "softest": found.softest,
        "unit_displacement": found.unit_displacement if found.softest else None,
        "unstable_directions": one.unstable,
        "neutral_directions": one.neutral,
        "touched_rows": one.touched,
        "isolated": found.is_unique,
        "has_potential": one.potential,
        "rows": [{"element": row.element, "direction": row.direction, "force": row.force} for row in found.rows],
        "open": list(found.open),
        "contacts": {pair: force.tolist() for pair, force in found.contacts.items()},
        "contact_points": [
            {"pair": one.pair, "point": one.point.tolist(), "force": one.force.tolist()} for one in found.points
        ],
        "redundant_rows": found.redundant,
        "set_dimension": found.set_dimension,
        "unknown_because": found.reason or ("" if one.sides is None else one.sides.reason),
        "drives": dict(found.drives),
        "others": [as_data(other) for other in found.others],
    }
