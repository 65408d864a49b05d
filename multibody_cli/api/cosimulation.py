"""A scene as a slave of a co-simulation by the Functional Mock-up Interface; see `studies.fmu`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from multibody_cli.api.scene import load
from multibody_cli.api.simulation import Simulation


class SceneSlave:
    """A scene with its inputs and outputs, to be combined with `pythonfmu3.Fmi3Slave`.

    The folder `resources` has the scene, `scene.yaml`, and its interface, `interface.json`.
    """

    def __init__(self, **words: Any) -> None:
        from pythonfmu3 import DefaultExperiment, Float64, Fmi3Causality, Fmi3Initial, Fmi3Variability

        super().__init__(**words)
        folder = Path(words["resources"])
        interface = json.loads((folder / "interface.json").read_text())
        self._simulation = Simulation(load(folder / "scene.yaml", ["expect=[]"]))
        slave: Any = self
        slave.description = interface["description"]
        slave.default_experiment = DefaultExperiment(0.0, interface["duration"], interface["step"])
        continuous = Fmi3Variability.continuous
        slave.register_variable(
            Float64("time", causality=Fmi3Causality.independent, variability=continuous), nested=False
        )
        for name in self._simulation.inputs:
            variable = Float64(
                f"inputs.{name}",
                causality=Fmi3Causality.input,
                variability=continuous,
                description="Input of the scene, in SI units.",
                getter=lambda name=name: self._simulation.inputs[name],
                setter=lambda value, name=name: self._set(name, value),
            )
            slave.register_variable(variable, nested=False)
        for one in interface["outputs"]:
            variable = Float64(
                one["name"],
                causality=Fmi3Causality.output,
                variability=continuous,
                initial=Fmi3Initial.calculated,
                description=f"{one['description']} Unit: {one['unit'] or 1}.",
                getter=lambda path=one["path"]: self._simulation.channel(path).item(),
            )
            slave.register_variable(variable, nested=False)

    @property
    def time(self) -> float:
        """Time, s."""
        return self._simulation.time

    def _set(self, name: str, value: float) -> None:
        self._simulation.inputs[name] = value

    def do_step(self, current_time: float, step_size: float) -> Any:
        """Advance by a whole number of steps of the scene, or to the event that ends the run and terminates.

        An error is a message of the log.
        """
        from pythonfmu3.fmi3slave import Fmi3Status, Fmi3StepResult

        from multibody_cli.errors import MbsimError

        try:
            self._simulation.advance(current_time + step_size)
        except MbsimError as error:
            slave: Any = self
            slave.log(str(error), Fmi3Status.error)
            return Fmi3StepResult(status=Fmi3Status.error)
        return Fmi3StepResult(terminateSimulation=bool(self._simulation.ended_by))

    # the names of PythonFMU3 for the functions of FMI: fmi3GetFMUState, fmi3SetFMUState and their serialization
    def _get_fmu_state(self) -> bytes:
        return self._simulation.save()

    def _set_fmu_state(self, state: bytes) -> None:
        self._simulation.restore(state)

    @staticmethod
    def _fmu_state_to_bytes(state: bytes) -> bytes:
        return state

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> bytes:
        return state
