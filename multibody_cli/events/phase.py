"""A phase of a run: a model with the values of the scene between two events, its method, and its observers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from multibody_cli.events.conditions import Conditions
from multibody_cli.methods.method import Method
from multibody_cli.model import Model
from multibody_cli.output.carried_state import Snapshot

Changes = Mapping[str, Any]
"""Values of the scene that differ from those of its file, by their paths."""


class Make(Protocol):
    """Makes the phases of a run for its state."""

    def __call__(self, changes: Changes) -> tuple[Model, Method]:
        """Return the model of the scene with changes, and a method for the state."""

    def carry(self, earlier: Model, model: Model, changed: Changes) -> None:
        """Carry values that are not those of the scene from the model before an event, with its own `changed` ones."""


class Phase(NamedTuple):
    """Model, method, conditions, and snapshots of the start and of the end of a step."""

    model: Model
    method: Method
    conditions: Conditions
    before: Snapshot
    behind: Snapshot
