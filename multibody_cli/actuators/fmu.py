"""Actuator `fmu`: a functional mock-up unit for co-simulation, FMI 2.0 or 3.0, which FMPy steps from sample to sample.

At the sample at t_k the unit advances from t_(k-1) to t_k with the inputs of t_(k-1), then has those of t_k.  Its
output is the force until the next sample.  At the first sample it is initialized with the inputs there.

Source: Modelica Association, Functional Mock-up Interface Specification, versions 2.0.4 and 3.0.
"""

from __future__ import annotations

import math
import shutil
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.actuators.contract import ActuatorSpec, ControlLaw, ControllerState
from multibody_cli.actuators.controllers import ExternalSample
from multibody_cli.errors import RunFailed, nearest
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.nodes import NodePath
from multibody_cli.spec import Quantity, SignalSpec, units
from multibody_cli.spec.quantities import located_error
from multibody_cli.spec.signal import Signal

REALS = ("Real", "Float64")
"""Types of variables that are numbers, in FMI 2.0 and 3.0."""

MODULE = "resources/slavemodule.txt"
"""File of a unit of PythonFMU: the name of its module, of which Python imports one in a process."""

_imported: dict[str, str] = {}
"""Token of the unit whose module this process has imported, by the name of the module."""

PACKAGE = "needs FMPy: pip install 'multibody-cli[fmi]'"


class FmuLaw(Immutable):
    """The law of a unit: file, input variables, output variable, values at the start, and limits of the output."""

    name: str
    file: Path
    inputs: tuple[str, ...]
    output: str
    start: tuple[tuple[str, float], ...]
    limits: tuple[float, float]

    def begin(self) -> ExternalSample:
        """Return a new instance of the unit."""
        return _Unit(self)


class FmuSpec(ActuatorSpec):
    """A functional mock-up unit for co-simulation, FMI 2.0 or 3.0: its output is the force, held between samples.

    It requires the package FMPy: pip install 'multibody-cli[fmi]'.
    """

    type: Literal["fmu"]
    file: str = Field(description="File of the unit (`.fmu`), relative to the scene file.")
    inputs: dict[str, Annotated[SignalSpec, Signal(units.ANY, state=("q", "v"))]] = Field(
        {},
        description="Input variables of the unit, each with its value in SI units: a number, an expression of the "
        "state, or a table.",
    )
    output: str = Field(description="Variable of the unit that is the force, N or N*m.")
    start: dict[str, Annotated[float, Quantity(units.ANY)]] = Field(
        {}, description="Parameters of the unit, and other values at its start."
    )

    DIMENSIONS: ClassVar[dict[str, str]] = {"limits": "force"}

    @model_validator(mode="after")
    def _require_samples(self) -> Self:
        if self.sampling_period is None:
            raise ValueError("expected `rate` or `period`: a unit is stepped from sample to sample")
        for field in ("filter", "input_limits"):
            if getattr(self, field) is not None:
                raise located_error("has no effect on a unit, which has several inputs", field)
        return self

    def law(self) -> ControlLaw:
        """Return the inputs, which are sampled; the force is that of `external_law`."""
        names = [f"input_{k}" for k in range(len(self.inputs))]
        states = {name: ControllerState(0.0, f"{name}_now") for name in names}
        signals = {f"{name}_now": signal for name, signal in zip(names, self.inputs.values(), strict=True)}
        return ControlLaw("0", signals=signals, states=states)

    def external_law(self, name: str, resolve: Callable[[str], Path]) -> FmuLaw:
        """Return the law of the unit."""
        limits = self.limits or (-math.inf, math.inf)
        return FmuLaw(name, resolve(self.file), tuple(self.inputs), self.output, tuple(self.start.items()), limits)

    def problems(self, resolve: Callable[[str], Path]) -> Iterator[tuple[NodePath, str]]:
        """Yield the errors of the file, and scalars of type Real or Float64 that it does not have."""
        file = resolve(self.file)
        if not file.is_file():
            yield ("file",), f"file not found: {file}"
            return
        try:
            from fmpy import read_model_description
        except ImportError:
            yield (), PACKAGE
            return
        try:
            description: Any = read_model_description(str(file))
        except Exception as error:  # FMPy raises errors of zip files, of XML and its own
            yield ("file",), f"cannot read the unit {file}: {' '.join(str(error).split())}"
            return
        if description.coSimulation is None:
            yield ("file",), f"{file} is no unit for co-simulation: export it as one, or use another"
            return
        known = {one.name: one for one in description.modelVariables if one.type in REALS and not one.dimensions}
        settable = {name for name, one in known.items() if one.causality == "input"}
        for name in self.inputs:
            if name not in settable:
                yield ("inputs", name), f"the unit has no input `{name}`: {nearest(name, settable)}"
        if self.output not in known:
            yield ("output",), f"the unit has no number `{self.output}`: {nearest(self.output, known)}"
        for name in self.start:
            if name not in known:
                yield ("start", name), f"the unit has no number `{name}`: {nearest(name, known)}"


class _Unit:
    """An instance of a unit, from its first sample on."""

    def __init__(self, law: FmuLaw) -> None:
        self._law, self._time, self._fmu = law, math.nan, None
        self._set: Callable[[list[float]], None]
        self._output: Callable[[], float]

    def __call__(self, before: float | None, time: float, inputs: Floats) -> float:
        """Advance from the sample `before` to one at `time`, and return the force there."""
        law = self._law
        if before is not None and before != self._time:
            raise RunFailed(
                f"actuators.{law.name}: the state of the unit {law.file} is not kept in checkpoints, so that the run "
                "cannot continue from one: run it from the start"
            )
        try:
            if before is None:
                self._open(time, inputs)
            else:
                if time > before:
                    self._fmu.doStep(before, time - before)  # type: ignore[attr-defined]
                self._set(inputs.tolist())
            found = self._output()
        except Exception as error:  # FMPy raises exceptions of its own and of the unit
            reason = " ".join(str(error).split()) or type(error).__name__
            raise RunFailed(f"actuators.{law.name}: the unit {law.file} failed at {time:.9g} s: {reason}") from error
        self._time = time
        if not math.isfinite(found):
            raise RunFailed(f"actuators.{law.name}: `{law.output}` of the unit {law.file} is {found} at {time:.9g} s")
        return min(max(found, law.limits[0]), law.limits[1])

    def _open(self, time: float, inputs: Floats) -> None:
        """Initialize the unit at a time with its first inputs."""
        from fmpy import extract, read_model_description
        from fmpy.simulation import apply_start_values, instantiate_fmu

        description: Any = read_model_description(str(self._law.file))
        folder = extract(str(self._law.file))
        _require_own_module(Path(folder), description)
        fmu: Any = instantiate_fmu(folder, description, "CoSimulation")
        self._fmu = fmu
        weakref.finalize(self, _close, fmu, folder)
        references = {one.name: one.valueReference for one in description.modelVariables}
        is_second = description.fmiVersion.startswith("2")
        set_, get = (fmu.setReal, fmu.getReal) if is_second else (fmu.setFloat64, fmu.getFloat64)
        of_inputs, of_output = [references[name] for name in self._law.inputs], [references[self._law.output]]
        self._set = lambda values: set_(of_inputs, values) if values else None
        self._output = lambda: float(get(of_output)[0])
        apply_start_values(fmu, description, dict(self._law.start))
        if is_second:
            fmu.setupExperiment(startTime=time)
            fmu.enterInitializationMode()
        else:
            fmu.enterInitializationMode(startTime=time)
        self._set(inputs.tolist())
        fmu.exitInitializationMode()


def _require_own_module(folder: Path, description: Any) -> None:
    """Refuse a unit of PythonFMU which would run another module of this process, that has the same name."""
    file = folder / MODULE
    if not file.is_file():
        return
    module, token = file.read_text(encoding="utf-8").strip(), description.guid or description.instantiationToken
    if _imported.get(module, token) != token or (module in sys.modules and module not in _imported):
        raise RunFailed(
            f"this process has another Python module `{module}`, and Python imports one of a name: pack the unit under "
            "another name"
        )
    _imported[module] = token


def _close(fmu: Any, folder: str) -> None:
    """End an instance and remove its files."""
    with suppress(Exception):  # a unit that failed may refuse to end
        fmu.terminate()
        fmu.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)
