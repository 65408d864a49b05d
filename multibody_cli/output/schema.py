"""Description of the result file, as JSON and as a reference page, from the registries."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from multibody_cli.joints.contract import Coordinate
from multibody_cli.output.attributes import ATTRIBUTES, DATASET_ATTRIBUTES, FORMAT, FORMAT_VERSION
from multibody_cli.output.bodies import BODY_CHANNELS
from multibody_cli.output.channel import AXES, BOUND, CONTACT, INSTANT, ROWS, Channel
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.contact_channels import DESCRIPTION, STORED
from multibody_cli.output.events import COLUMNS, GROUP

STATIC_DATASETS = {
    "scene/yaml": "The resolved scene as text; `mbsim run` accepts it.",
    "scene/earlier": "Only in a branch (`mbsim run --resume FILE --from TIME`): the scenes before, as text; the "
    "attribute `until` has the time up to which each was followed, s.",
    "bodies/name": "Names of the bodies, in the order of the body axis of all arrays.",
    "events/name": "Names of the events, if the scene has events.",
    "bodies/com_offset": "Center of mass of each body in its body frame, m.",
}
"""Datasets that are constant in time."""

LENGTHS = {name: str(len(labels)) for name, labels in AXES.items()} | {
    "body": "B",
    "coordinate": "n",
    "crossed": "c",
    "actuated": "k",
    "row": "m",
    "span": "s",
    "section": "p",
    "guide": "g",
}
"""Symbol of the length of each axis after the first, for the reference page."""

FIRST_AXES = {INSTANT: ("time", "T"), CONTACT: ("contact", "N"), BOUND: ("bound", "T+1")}
"""Name of the first axis and symbol of its length, by `Channel.per`."""

_PAIR = "contacts/<A>:<B>/force"

TYPES = {"<f8": "float64", "<i8": "int64"}


def describe() -> dict[str, Any]:
    """Describe the result file: its attributes and every dataset, in the order of the registry."""
    return {
        "title": "Datasets of a result file of mbsim",
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "attributes": {name: one.meaning for name, one in ATTRIBUTES.items()},
        "static": [{"path": path, "description": text} for path, text in STATIC_DATASETS.items()],
        "events": [
            {"path": f"{GROUP}/{name}", "units": units, "description": text}
            for name, (_, units, text) in COLUMNS.items()
        ],
        "datasets": [
            {
                "path": _path(channel),
                "type": TYPES[channel.dtype],
                "dimensions": [FIRST_AXES[channel.per][0], *channel.dimensions],
                **{name: getattr(channel, name) for name in DATASET_ATTRIBUTES if name != "same"},
                "units": _units(channel),
            }
            for channel in CHANNELS
        ],
        "computed": [
            {"path": f"bodies/<name>/{name}", "from": list(one.paths), "description": one.description}
            for name, one in BODY_CHANNELS.items()
        ]
        + [{"path": _PAIR, "from": list(STORED), "description": DESCRIPTION}],
    }


def render_markdown() -> str:
    """Write the reference page of the result file: `result_file.md` of this folder, with tables in its places."""
    datasets = [
        (
            f"`{_path(channel)}`",
            f"({', '.join([FIRST_AXES[channel.per][1], *(LENGTHS[name] for name in channel.dimensions)])})",
            _units(channel),
            channel.frame,
            f"{channel.rtol:g}",
            f"{channel.atol:g}",
            channel.description,
        )
        for channel in CHANNELS
    ]
    bodies = [(f"`bodies/<name>/{name}`", one.frame, one.description) for name, one in BODY_CHANNELS.items()]
    tables = {
        "datasets": _table(("path", "shape", "units", "frame", "rtol", "atol", "meaning"), datasets),
        "rows": _table(("`per`", "one row for"), [(f"`{word}`", meaning) for word, meaning in ROWS.items() if word]),
        "computed": _table(("path", "frame", "meaning"), [*bodies, (f"`{_PAIR}`", "world", DESCRIPTION)]),
        "constant": _table(("path", "meaning"), [(f"`{path}`", text) for path, text in STATIC_DATASETS.items()]),
        "events": _table(
            ("path", "units", "meaning"),
            [(f"`{GROUP}/{name}`", units, text) for name, (_, units, text) in COLUMNS.items()],
        ),
        "attributes": _table(("name", "meaning"), [(f"`{name}`", one.meaning) for name, one in ATTRIBUTES.items()]),
    }
    page = (files(__package__) / "result_file.md").read_text(encoding="utf-8")
    for word, table in tables.items():
        page = page.replace(f"{{{word}}}", table)
    return page


def _path(channel: Channel) -> str:
    return channel.path.replace("{", "<").replace("}", ">")


def _units(channel: Channel) -> str:
    return " or ".join(dict.fromkeys(channel.units.format(q=unit) for unit in tuple(Coordinate)))


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
