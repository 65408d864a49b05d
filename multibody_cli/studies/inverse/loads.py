"""Measured forces on bodies, such as those of the ground on the feet, as forces of a scene.

A file of OpenSim (ExternalLoads) is included beside the scene.  Without one, `BODY=TABLE:FORCE,POINT,TORQUE` sets the
same: a body, a table, and the prefixes of three columns each, in axes of the world.  A result file has the forces of
the contacts of its run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multibody_cli.document.source import SceneText
from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.kernel import Floats
from multibody_cli.output.trajectory import ENDINGS, read_trajectory
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import SignalSpec


def with_loads(scene: Path, words: Sequence[str]) -> Path | SceneText:
    """Return a scene with loads: each a file of ExternalLoads, a result file, or `BODY=TABLE:FORCE,POINT,TORQUE`.

    Raises
    ------
    ArgumentError
        A word is none of these, or a result file has no forces of contacts.
    """
    if not words:
        return scene
    folder = scene.parent
    files = [scene, *(Path(word) for word in words if word.endswith(".xml"))]
    forces: dict[str, Any] = {}
    for k, word in enumerate(words, 1):
        if Path(word).suffix in ENDINGS:
            forces |= {f"load {k} on {body}": force for body, force in _contact_forces(word)}
        elif not word.endswith(".xml"):
            forces[f"load {k}"] = _load(word, folder)
    sections: dict[str, Any] = {"mbsim": 1, "name": scene.stem, "include": [_relative(file, folder) for file in files]}
    return SceneText(json.dumps(sections | ({"forces": forces} if forces else {})), folder / f"{scene.stem}+loads.yaml")


def with_option(error: SceneError, source: Path | SceneText) -> SceneError:
    """Return an error of a scene with loads, in which faults of these words have the option as their place."""
    return error.with_places(lambda place: "--loads" if place.startswith(f"{source}:") else place)


def _relative(file: Path, folder: Path) -> str:
    return os.path.relpath(file, folder)


def _contact_forces(word: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the bodies with contacts in a run, and the forces and torques of these at the origins of their frames."""
    trajectory = read_trajectory(word)
    paths = {"force": "bodies/contact_force", "torque": "bodies/contact_torque"}
    missing = [path for path in paths.values() if path not in trajectory.paths]
    if missing:
        raise ArgumentError(f"--loads {word}: the file has no channel {missing[0]}: no contacts of a run were recorded")
    values = {key: trajectory.channel(path).values for key, path in paths.items()}
    times = trajectory.time.tolist()
    for k, body in enumerate(trajectory.bodies):
        if any(own[:, k].any() for own in values.values()):
            yield (
                body,
                {"body": body}
                | {
                    key: [
                        {"times": times, "values": column.tolist(), "interpolation": "linear"} for column in own[:, k].T
                    ]
                    for key, own in values.items()
                },
            )


def _load(word: str, folder: Path) -> dict[str, Any]:
    """Return the force on a body that a word specifies."""
    body, _, rest = word.partition("=")
    file, _, names = rest.rpartition(":")
    prefixes = [part.strip() for part in names.split(",")]
    if not (body and file and prefixes[0]) or len(prefixes) > 3:
        raise ArgumentError(
            f"--loads {word}: expected a file of ExternalLoads (.xml), a result file, or BODY=TABLE:FORCE,POINT,TORQUE "
            "with the prefixes of its columns, as in `foot=grf.mot:ground_force_v,ground_force_p,ground_torque_`"
        )
    keys = ("force", "moving_point", "torque")
    return {"body": body} | {
        key: [
            {
                "file": _relative(Path(file), folder),
                "times": "time",
                "values": prefix + axis,
                "interpolation": "natural",
            }
            for axis in "xyz"
        ]
        for key, prefix in zip(keys, prefixes, strict=False)
        if prefix
    }


def outside_of_tables(scene: SceneSpec, times: Floats) -> Iterator[str]:
    """Report the forces whose tables end before the last instant, or begin after the first one."""
    for name, force in scene.forces.items():
        for field in type(force).model_fields:
            value = getattr(force, field)
            tables = [one for one in value if isinstance(one, SignalSpec) and one.times] if type(value) is tuple else []
            ends = [(one.times[0], one.times[-1]) for one in tables]
            if any(first > times[0] or last < times[-1] for first, last in ends):
                first, last = ends[0]
                yield f"forces.{name} has values from {first:g} s to {last:g} s; beyond, it keeps those of the ends"
                break
