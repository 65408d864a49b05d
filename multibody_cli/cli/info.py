"""`mbsim info`: shows the contents of a scene or a result file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, replaced_values
from multibody_cli.cli.source import denotes_result, prepare_and_warn
from multibody_cli.cli.tables import show, show_json, show_table
from multibody_cli.errors import ArgumentError
from multibody_cli.escaping import path_component

if TYPE_CHECKING:
    from multibody_cli.studies.simulation import PreparedSimulation

INSTANT_DIGITS = 15
"""Digits of the instants of events, which are exact to round-off."""

_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")


@click.command("info", cls=Verb, short_help="Show the contents of a scene or a result file.")
@click.argument("path", metavar="SCENE|FILE.h5", type=PATH)
@replaced_values
@click.option("--json", "as_json", is_flag=True, help="Write the contents as JSON.")
def verb(path: Path, overrides: tuple[str, ...], as_json: bool) -> int:
    """Show the contents of a scene, a result file, or a table of `mbsim sweep`."""
    if denotes_result(path):
        if overrides:
            raise ArgumentError(f"{path} is a result file: --set applies to scenes only")
        data = _describe_result(path)
    else:
        data = _describe_scene(prepare_and_warn(path, overrides))
    show_json(data) if as_json else _show(data)
    return 0


def _describe_scene(simulation: PreparedSimulation) -> dict[str, Any]:
    scene, model, timing = simulation.scene, simulation.compiled.model, simulation.compiled.timing
    from multibody_cli.scene.schema import between_bodies
    from multibody_cli.scene.timing import is_adaptive
    from multibody_cli.scene.topology import inboard_joints

    links, actuators = model.system.tree.links, cast("dict[str, Any]", scene.actuators)
    holder = inboard_joints(scene)
    settings = scene.simulation
    return {
        "scene": {
            "name": scene.name,
            "description": scene.description,
            "method": settings.method,
            "integrator": simulation.integrator.name or "its own",
            "duration": settings.duration,
            "step": settings.step,
            "steps": "adaptive" if is_adaptive(settings) else timing.steps,
            "outputs": timing.outputs + 1,
            "degrees of freedom": simulation.compiled.n_dofs,
            "prescribed degrees of freedom": int(model.system.tree.driven.sum()),
            "expectations": len(scene.expect),
        },
        "bodies": [
            {"body": name, "mass kg": float(links["mass"][row]), "inboard joint": holder.get(name, "none (free)")}
            for name, row in zip(model.names.bodies, model.names.body_rows, strict=True)
        ],
        "joints": [
            {
                "joint": joint.name,
                "type": joint.type,
                "parent": scene.joints[joint.name].parent,
                "child": scene.joints[joint.name].child,
                "DoF": len(joint.coordinates),
                "coordinates": " ".join(joint.coordinates),
                "closes a loop": "yes" if holder.get(scene.joints[joint.name].child) != joint.name else "",
            }
            for joint in model.names.joints
        ],
        "couplings and constraints": [
            {"name": name, "section": section, "type": entry.type, "rows": entry.row_count}
            for section, entries in (("couplings", scene.couplings), ("constraints", scene.constraints))
            for name, entry in entries.items()
        ],
        "springs, muscles and strands": [
            {"name": name, "section": section, "acts on": " ".join(dict.fromkeys(body for _, body in entry.bodies))}
            for section, entries in between_bodies(scene)
            for name, entry in entries.items()
        ],
        "forces": [
            {"force": name, "account": f"{account.kind} by {account.cause}"}
            for name in scene.forces
            for account in model.names.accounts
            if account.cause == f"forces/{path_component(name)}"
        ],
        "actuators": [
            {"actuator": name, "type": actuator.type, "acts on": " ".join(actuator.coordinates)}
            for name, actuator in actuators.items()
        ],
        "points": [{"point": f"{body}/{name}"} for body, some in scene.named_points.items() for name in some],
        "events": [
            {"event": name, "when": event.when.text, "direction": event.direction}
            for name, event in scene.events.items()
        ],
        "states": [{"state": name} for name in simulation.loaded.states],
        "sensors": [{"sensor": name, "body": sensor.body} for name, sensor in scene.sensors.items()],
    }


def _describe_result(path: Path) -> dict[str, Any]:
    from multibody_cli.output.sweep_table import is_sweep_table
    from multibody_cli.output.trajectory import open_result

    if is_sweep_table(path):
        return _describe_table(path)
    result = open_result(path)
    with result.open() as file:
        datasets = [
            {"dataset": name, "shape": str(result.shape(name)), "units": file.text(name, "units")}
            for name in result.rows
        ]
        certificate, events = file.certificate(), file.events()
    about = {"path": str(path), **result.attributes}
    alarms = json.loads(about.pop("alarms", "[]"))
    if result.earlier:
        about["branch"] = f"from {result.earlier[-1].until:.9g} s on"
    if certificate is not None:
        about["certificate"] = certificate.verdict
    bars = certificate.bars if certificate is not None else {}
    return {
        "file": about,
        "alarms": [{key: alarm.get(key) for key in ("name", "level", "time", "channel", "remedy")} for alarm in alarms],
        "events": events.as_rows() if events else [],
        "datasets": datasets,
        "error bars": [
            {"dataset": name, "final": float(bar.values[-1].max()), "largest": float(bar.values.max())}
            | {"units": bar.units, "digits": bar.digits}
            for name, bar in bars.items()
        ],
    }


def _describe_table(path: Path) -> dict[str, Any]:
    from multibody_cli.immutable import asdict
    from multibody_cli.output.sweep_table import SweepTable
    from multibody_cli.studies.sweep.indices import base_of, sobol_indices

    table = SweepTable(path)
    attributes = {key: value.item() if hasattr(value, "item") else value for key, value in table.attributes.items()}
    statuses = table.read("status").tolist()
    endings = zip(statuses, table.read("reason").tolist(), table.read("run").tolist(), strict=True)
    columns = [(column, table.read(column.name)) for column in table.columns]
    return {
        "file": {"path": str(path), **attributes, "rows": table.count},
        "outcomes": [{"status": word, "runs": statuses.count(word)} for word in sorted(set(statuses))],
        "reasons": _reasons(endings),
        "sensitivity indices": [*map(asdict, sobol_indices(table))] if base_of(table) else [],
        "columns": [
            {"column": column.name, "units": column.units, **_range_of(values), "description": column.description}
            for column, values in columns
        ],
    }


def _reasons(endings: Iterable[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """Count the runs by status and reason, most frequent first; reasons that differ in numbers alone count as one."""
    by_reason: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for status, reason, run in endings:
        if reason:
            by_reason.setdefault((status, _NUMBER.sub("", reason)), []).append((run, reason))
    return [
        {"status": status, "runs": len(runs), "first run": runs[0][0], "its reason": runs[0][1]}
        for (status, _), runs in sorted(by_reason.items(), key=lambda one: -len(one[1]))
    ]


def _range_of(values: Any) -> dict[str, float | None]:
    """Return the smallest and the largest number of a column; None for texts."""
    known = [] if values.dtype == object else [float(value) for value in values if value == value]
    return {"min": min(known, default=None), "max": max(known, default=None)}


def _show(data: dict[str, Any]) -> None:
    for title, content in data.items():
        if isinstance(content, dict):
            width = max(map(len, content))
            for key, value in content.items():
                text = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
                show(f"{key.ljust(width)}  {text}".rstrip())
        elif content:
            show(f"\n{title}")
            show_table(content, indent="  ", digits=INSTANT_DIGITS if title == "events" else 4)
