"""ExternalLoads of OpenSim: measured forces on bodies, with the columns of a table, as forces at moving points.

A file has the forces of a model that it does not name: a scene includes both.  The columns of a vector begin with its
identifier and end with `x`, `y` and `z`.  Natural cubic splines lead through their values, as in OpenSim.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multibody_cli.foreign.draft import WORLD, Draft
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading

TIMES = "time"
"""Name of the column of instants."""

ELSEWHERE = {
    "external_loads_model_kinematics_file": "points in the world need no motion",
    "lowpass_cutoff_frequency_for_load_kinematics": "points in the world need no motion",
    "groups": "groups of the user interface",
    "defaults": "defaults of other classes",
}
"""Parts of the file that have no effect on its forces, and why."""


def read_loads(root: Element, loads: Element, reading: Reading) -> Draft:
    """Read the forces of a file; `root` is its root element."""
    draft = Draft(reading.path, reading.ledger, reading.problems)
    reading.ledger.keep(root, "Version")
    reading.ledger.keep(loads, "name")
    for one in loads.children:
        if one.tag in ELSEWHERE:
            reading.ledger.drop(one, ELSEWHERE[one.tag])
    file = _text(reading, loads, "datafile")
    for holder in reading.children(loads, "objects"):
        for element in holder.children:
            if element.tag == "ExternalForce":
                _read_force(draft, reading, element, file)
            else:
                reading.ledger.drop(element, "loads of this type are not read")
    return draft


def _read_force(draft: Draft, reading: Reading, element: Element, file: str) -> None:
    ledger = reading.ledger
    ledger.keep(element, "name")
    has_effect = _text(reading, element, "isDisabled") != "true" and _text(reading, element, "appliesForce") != "false"
    body = _frame(reading, element, "applied_to_body")
    axes, place = (_frame(reading, element, f"{part}_expressed_in_body") or WORLD for part in ("force", "point"))
    force, point, torque = (_text(reading, element, f"{part}_identifier") for part in ("force", "point", "torque"))
    source = _text(reading, element, "data_source_name")
    file = file or ("" if source == "Unassigned" else source)
    if not has_effect:
        ledger.drop(element, "has no effect")
    elif not body or body == WORLD:
        reading.refuse(element, "expected a body that moves in <applied_to_body>")
    elif not file:
        reading.refuse(element, "expected a table in <datafile>")
    elif not (force or torque):
        reading.refuse(element, "expected a <force_identifier> or a <torque_identifier>")
    elif axes not in (WORLD, body) or (force and point and place not in (WORLD, body)):
        reading.refuse(element, f"expected force and point in the frame of the ground or of `{body}`")
    else:
        table = reading.path.parent / file
        fields: dict[str, Any] = {"body": body}
        if force and point:
            fields["moving_point"] = _columns(table, point)
            fields |= {} if place == WORLD else {"point_frame": "body"}
        fields |= {} if axes == WORLD else {"frame": "body"}
        fields |= {"force": _columns(table, force)} if force else {}
        fields |= {"torque": _columns(table, torque)} if torque else {}
        draft.add("forces", reading.text(element, "name"), element, **fields)


def _columns(table: Path, prefix: str) -> list[dict[str, Any]]:
    return [{"file": table, "times": TIMES, "values": f"{prefix}{axis}", "interpolation": "natural"} for axis in "xyz"]


def _frame(reading: Reading, element: Element, tag: str) -> str:
    """Return the name of a body, or `world`, without its path."""
    name = _text(reading, element, tag).rsplit("/", 1)[-1]
    return WORLD if name == "ground" else name


def _text(reading: Reading, element: Element, tag: str) -> str:
    found = reading.child(element, tag)
    return "" if found is None else reading.text(found, TEXT)
