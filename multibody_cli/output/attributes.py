"""Attributes of a result file: name, type and meaning; and the earlier scenes of a branch."""

from __future__ import annotations

from typing import Literal, NamedTuple

FORMAT = "mbsim-trajectory"
FORMAT_VERSION = 1

Status = Literal["running", "complete", "untrusted", "diverged", "interrupted"]


EARLIER = "scene/earlier"
"""Dataset of the earlier scenes of a branch; its attribute `until` has the instants, s."""


class EarlierScene(NamedTuple):
    """The scene, as resolved text, that a branch followed up to an instant, s."""

    scene_yaml: str
    until: float


class Attribute(NamedTuple):
    """An attribute of the root group: its type, its meaning, and whether every file has it."""

    kind: type
    meaning: str
    is_required: bool = True


ATTRIBUTES = {
    "format": Attribute(str, f"always `{FORMAT}`"),
    "format_version": Attribute(int, f"version of this format, {FORMAT_VERSION}"),
    "mbsim_version": Attribute(str, "version of the program that wrote the file"),
    "mbsim_commit": Attribute(
        str,
        "commit of the source of the program, if it is known, with `+` if the code differed from it",
        is_required=False,
    ),
    "name": Attribute(str, "name of the scene"),
    "description": Attribute(str, "description of the scene"),
    "method": Attribute(
        str, "method that advanced the state; `inverse_dynamics` or `kinematics` of a file of these verbs"
    ),
    "integrator": Attribute(str, "integrator; empty where the method is its own"),
    "options": Attribute(str, "options of the method, as JSON"),
    "step": Attribute(float, "time step, s"),
    "duration": Attribute(float, "requested duration of the run, s"),
    "scene_sha256": Attribute(str, "hash of the resolved scene"),
    "status": Attribute(str, "`complete`, `untrusted`, `diverged` or `interrupted`; `running` in a `.part` file"),
    "message": Attribute(str, "message about the end of the run, with warnings"),
    "steps": Attribute(int, "number of steps taken"),
    "alarms": Attribute(
        str,
        "JSON list of the alarms raised: name, level, message, remedy, channel, time, value, threshold and "
        "at_start, whether it was raised before the first step",
        is_required=False,
    ),
    "accepted": Attribute(
        str,
        "only in a baseline of `mbsim regress`: JSON list of the reasons for acceptance, the latest last",
        is_required=False,
    ),
    "accepted_misses": Attribute(
        str,
        "only in a baseline of `mbsim regress`: JSON list of the expectations that it was accepted with although it "
        "misses them",
        is_required=False,
    ),
}
"""Attributes of the root group."""

DATASET_ATTRIBUTES = ("units", "description", "frame", "rtol", "atol", "role", "same", "per")
"""Attributes of the dataset of a channel, as in `output.channel.Channel`; empty texts are left out."""
