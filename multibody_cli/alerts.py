"""What springs and muscles did during a run that a user should know of, in words."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.forces.elements import Alerts
from multibody_cli.forces.muscle import OUT_OF_RANGE, TOO_FAST, TOO_LONG, TOO_SHORT
from multibody_cli.model import Model

_COLLAPSED = (
    "two neighboring points of its path came together: the line between them has no direction there; move a point, or "
    "leave one out"
)
_OF_MUSCLES = {
    1: _COLLAPSED,
    TOO_SHORT: "its fibers were shorter than 0.4 of `optimal_length`, where they do not pull: the path is too short "
    "for this `tendon_slack_length`",
    TOO_LONG: "its fibers were longer than 1.81 of `optimal_length`, where they no longer answer to activation",
    TOO_FAST: "its fibers moved faster than `max_velocity`, where their force no longer changes",
    OUT_OF_RANGE: "its activation left the range from 0 to 1, and was held at its end",
}
"""Words for each bit."""


def tell_alerts(model: Model, alerts: Alerts) -> Iterator[str]:
    """Tell what came up, element by element."""
    for name, bits in zip(model.names.springs, alerts.springs, strict=True):
        if bits:
            yield f"spring `{name}`: {_COLLAPSED}"
    for muscle, bits in zip(model.names.muscles, alerts.muscles, strict=True):
        for bit, words in _OF_MUSCLES.items():
            if bits & bit:
                yield f"muscle `{muscle.name}`: {words}"
