"""Events of a simulation step by step, whose inputs and applied forces a program writes between steps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from multibody_cli.document.overrides import path_of
from multibody_cli.errors import ArgumentError
from multibody_cli.events.phase import Changes
from multibody_cli.events.watch import Watch
from multibody_cli.methods.contract import Report
from multibody_cli.methods.method import Method
from multibody_cli.model import Floats, Model, State
from multibody_cli.output.carried_state import Values, collect, restore
from multibody_cli.output.events import EventTable
from multibody_cli.output.state_observer import Observer
from multibody_cli.packing.applied_forces import with_applied_forces
from multibody_cli.studies.phases import Phases
from multibody_cli.studies.simulation import PreparedSimulation


class WrittenPhases(Phases):
    """Makes the phases of a simulation: models with `count` applied forces."""

    def __init__(self, simulation: PreparedSimulation, state: State, count: int) -> None:
        super().__init__(simulation, state)
        self._count = count
        self._of_scene: dict[int, Floats] = {}  # constants of signals as the scene has them, by model

    def model(self, changes: Changes) -> Model:
        """Return the model of the scene with changes, and with applied forces."""
        model = with_applied_forces(super().model(changes)).model
        self._of_scene[id(model)] = _constants_of(model).copy()
        return model

    def applied_forces_of(self, model: Model) -> Floats:
        """Return the applied forces (count,) of a phase, N or N m."""
        constants = _constants_of(model)
        return constants[len(constants) - self._count :]

    def carry(self, earlier: Model, model: Model, changed: Changes) -> None:
        """Carry lengths of ropes, applied forces, and inputs that the event does not change."""
        super().carry(earlier, model, changed)
        self.applied_forces_of(model)[:] = self.applied_forces_of(earlier)
        paths = [path_of(path) for path in changed]
        own = {path[1] for path in paths if path and path[0] == "inputs"}
        for name, places in model.inputs.items():
            if name in own:
                _constants_of(model)[list(places)] = self._of_scene[id(model)][list(places)]
            elif name in earlier.inputs:
                _constants_of(model)[list(places)] = _constants_of(earlier)[earlier.inputs[name][0]]


def _constants_of(model: Model) -> Floats:
    constants: Floats = model.system.forces.signals.operand
    return constants


class Events:
    """The part of a `Simulation` that passes events."""

    _model: Model
    _state: State
    _method: Method
    _observer: Observer
    _forces: Floats
    _written: Floats

    @property
    def events(self) -> EventTable:
        """The events up to the present time."""
        return self._watch.table if self._watch else EventTable((), np.zeros(0, int), np.zeros(0), np.zeros(0, int))

    @property
    def ended_by(self) -> str:
        """Name of the event at which the simulation has ended; empty if none has."""
        return self._watch.record.ended_by if self._watch else ""

    def _watch_events(self, simulation: PreparedSimulation, method: Method) -> None:
        """Make the watch of the events of a scene, if it has any."""
        self._watch: Watch | None = None
        if events := simulation.scene.events:
            self._phases = WrittenPhases(simulation, self._state, len(self._written))
            step = simulation.compiled.timing.step
            self._watch = Watch(events, self._model, self._state, method, step, self._phases)

    def _pass_events(self, until: float) -> Report:
        """Advance to a time, s, or to the event that ends the run."""
        assert self._watch
        report = self._watch.advance(until)
        self._follow()
        return report

    def _follow(self) -> None:
        """Use the model and the method of the present phase."""
        assert self._watch
        phase = self._watch.phase
        if phase.method is not self._method:
            self._model, self._method = phase.model, phase.method
            self._forces, history = self._phases.applied_forces_of(phase.model), self._observer.history
            self._observer = Observer(self._model, self._method)
            self._observer.history = history
            self.__dict__.pop("equations", None)

    def _refuse_after_the_end(self) -> None:
        if self.ended_by:
            raise ArgumentError(
                f"the event `{self.ended_by}` ended the simulation at {self._state.time[0]:.9g} s: call `reset` or "
                "`restore`"
            )

    @property
    def _holders(self) -> dict[str, Any]:
        """The objects that hold the carried state."""
        holders: dict[str, Any] = {"state": self._state, "method": self._method}
        return holders | dict(self._watch.holders) if self._watch else holders

    def _carried(self) -> Values:
        """Return all that the motion depends on, with the values of the scene that events have changed."""
        values = collect(self._holders)
        return values | {"changes": json.dumps(self._watch.changed)} if self._watch else values

    def _restore(self, values: Values) -> None:
        """Return to an instant of carried values."""
        if self._watch:
            self._watch.resume(json.loads(values["changes"]))
            self._follow()
        restore(self._holders, {path: value for path, value in values.items() if path != "changes"})
        self._written[:] = self._forces
