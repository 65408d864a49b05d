"""A phase of a run: a model with the values of the scene between two events, its method, and its observers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from multibody_cli.events.conditions import Conditions
from multibody_cli.methods.method import Method
from multibody_cli.model import Model
from multibody_cli.output.carried_state import Snapshot

Changes = Mapping[str, Any]
"""Values of the scene that differ from those of its file, by their paths."""

Make = Callable[[Changes], tuple[Model, Method]]
"""Function that returns the model of the scene with changes, and a method for the state of the run."""


class Phase(NamedTuple):
    """Model, method, conditions, and snapshots of the start and of the end of a step."""

    model: Model
    method: Method
    conditions: Conditions
    before: Snapshot
    behind: Snapshot
