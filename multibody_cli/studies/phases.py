"""Phases of a run: the scene with the values that its events have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from multibody_cli.compile import changed_model
from multibody_cli.document.overrides import path_of
from multibody_cli.document.source import StoredScene
from multibody_cli.errors import ArgumentError, Problem, SceneError
from multibody_cli.events.phase import Changes
from multibody_cli.methods.method import Method
from multibody_cli.model import Model, State
from multibody_cli.nodes import NodePath
from multibody_cli.packing.ropes import fasten_ropes
from multibody_cli.scene.events import EventSpec
from multibody_cli.scene.load import load_scene
from multibody_cli.yaml_values import flow

if TYPE_CHECKING:
    from multibody_cli.studies.simulation import PreparedSimulation

OTHERS = ("mbsim", "name", "description", "simulation", "output", "expect", "events", "world")
"""Sections of a scene that an event does not change."""

OF_THE_START = {"joints": ("q", "v"), "bodies": ("position", "rotation", "velocity")}
"""Fields that the start of a run has, by their section."""


class Phases:
    """Makes the phases of a run of a scene for a state."""

    def __init__(self, simulation: PreparedSimulation, state: State) -> None:
        self._simulation, self._state = simulation, state
        self._text = StoredScene(simulation.header().scene_yaml, "the scene", "events")

    def __call__(self, changes: Changes) -> tuple[Model, Method]:
        """Return the model of the scene with changes, and a method for the state.

        Raises
        ------
        SceneError
            The values are invalid, or change the layout of the model.
        """
        model = self.model(changes)
        return model, self._simulation.with_compiled(model=model).method_for(self._state)

    def model(self, changes: Changes) -> Model:
        """Return the model of the scene with changes."""
        overrides = [f"{path}={flow(value)}" for path, value in changes.items()]
        own = self._simulation.compiled
        changed = changed_model(own, load_scene(self._text, ["expect=[]", *overrides]))
        if (changed.names, changed.nq, changed.nv) != (own.model.names, own.model.nq, own.model.nv):
            message = "changes coordinates, channels or energy accounts: an event changes values of elements alone"
            raise SceneError([Problem("the scene", "", message)])
        return changed

    def carry(self, earlier: Model, model: Model, changed: Changes) -> None:
        """Carry the lengths of ropes; one that begins to act has its own from the present position."""
        constraints, numbers, slack = self._simulation.scene.constraints, Counter[str](), {}
        for row, (section, element) in enumerate((name.section, name.element) for name in model.names.rows):
            given = getattr(constraints.get(element), "slack", ()) if section == "constraints" else ()
            if numbers[element] < len(given):
                slack[row] = given[numbers[element]]
            numbers[element] += section == "constraints"
        fasten_ropes(model, earlier, self._state, slack)

    def reason_against(self, path: NodePath | None) -> str:
        """Return why an event cannot release or close a joint; empty if it can, and for other paths."""
        joint = self._simulation.scene.joints.get(str(path[1])) if path and path[0] == "joints" else None
        if path is None or joint is None or path[2:] != ("active",) or joint.releasable:
            return ""
        return "write `active: true` at the joint: it then closes a loop, and its child moves by itself"

    def is_active(self, constraint: str) -> bool:
        """Whether the scene has a constraint that acts from the start."""
        found = self._simulation.scene.constraints.get(constraint)
        return found is not None and found.active

    @property
    def objection(self) -> str:
        """Why no event may change the scene; empty if one may."""
        if self._simulation.compiled.model.controllers:
            return "sampled controllers count their periods in whole steps: an event may end the run, but not change it"
        if self._simulation.scene.simulation.options.get("stabilization", "projection") != "projection":
            return "events that change the scene require `stabilization: projection`, the default"
        return ""


def require_phases(simulation: PreparedSimulation) -> None:
    """Refuse events whose changes are invalid, by making the phase behind each change alone.

    Raises
    ------
    SceneError
        With all problems.
    """
    phases = Phases(simulation, simulation.fresh_state())
    events = simulation.scene.events.items()
    problems = ((name, place, message) for name, event in events for place, message in _problems(event, phases))
    simulation.loaded.refuse((("events", name, *place), message) for name, place, message in problems)


def _problems(event: EventSpec, phases: Phases) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the problems of an event, each with its place."""
    places = {path: ("set", path) for path in event.set}
    if event.impact is not None:
        path = f"constraints.{event.impact.constraint}.active"
        places[path] = ("impact", "constraint")
        if phases.is_active(event.impact.constraint):
            yield places[path], "expected a constraint with `active: false`, which acts at the event alone"
    if event.changes and (reason := phases.objection):
        yield (), reason
        return
    for path, place in places.items():
        try:
            if reason := _reason_against(path_of(path)) or phases.reason_against(path_of(path)):
                yield place, reason
            else:
                phases.model({path: event.set.get(path, True)})
        except SceneError as error:
            yield place, "; ".join(problem.message for problem in error.problems)


def _reason_against(path: NodePath | None) -> str:
    """Return why an event cannot change the value at a path, None for a text that is none; empty if it may."""
    if path is None:
        return "expected a path of the scene, such as `springs.tether.stiffness`"
    section = str(path[0])
    if section in OTHERS:
        return f"an event changes elements and `inputs`, not `{section}`"
    if len(path) > 2 and path[2] in OF_THE_START.get(section, ()):
        return "is part of the start of a run: let a constraint act for an instant, by `impact`"
    return ""


def require_unchanged(simulation: PreparedSimulation) -> None:
    """Refuse events that change the scene, for studies of one model.

    Raises
    ------
    ArgumentError
        It has such an event.
    """
    for name, event in simulation.scene.events.items():
        if event.changes:
            raise ArgumentError(
                f"{simulation.scene.name}: the event `{name}` changes the scene, which only whole runs do: {_REMEDY}"
            )


_REMEDY = "leave the events out by `--set events={}`, in Python load('scene.yaml', ['events={}'])"
