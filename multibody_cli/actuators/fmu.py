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
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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

    def begin(self, others: Mapping[str, ExternalSample]) -> ExternalSample:
        """Return a new instance of the unit."""
        return _Unit(self)


class OutputLaw(Immutable):
    """The law of a further output of a unit: actuators of both, output variable, and its limits."""

    name: str
    owner: str
    output: str
    limits: tuple[float, float]

    def begin(self, others: Mapping[str, ExternalSample]) -> ExternalSample:
        """Return an instance that reads the unit of the other actuator, which is sampled before."""
        unit = others[self.owner]
        assert isinstance(unit, _Unit)
        return _Output(self, unit)


class FmuSpec(ActuatorSpec):
    """A functional mock-up unit for co-simulation, FMI 2.0 or 3.0: its output is the force, held between samples.

    It requires the package FMPy: pip install 'multibody-cli[fmi]'.
    """

    type: Literal["fmu"]
    file: str | None = Field(None, description="File of the unit (`.fmu`), relative to the scene file.")
    unit: str | None = Field(
        None,
        description="Name of an actuator above, in place of `file`: the `output` is a further one of its unit, at the "
        "same samples.",
    )
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
        if (self.file is None) == (self.unit is None):
            raise ValueError("expected either `file` or `unit`")
        for field in ("inputs", "start") if self.unit is not None else ():
            if field in self.model_fields_set:
                raise located_error("is given where the `file` of the unit is", field)
        return self

    def law(self) -> ControlLaw:
        """Return the inputs, which are sampled; the force is that of `external_law`."""
        names = [f"input_{k}" for k in range(len(self.inputs))]
        states = {name: ControllerState(0.0, f"{name}_now") for name in names}
        signals = {f"{name}_now": signal for name, signal in zip(names, self.inputs.values(), strict=True)}
        return ControlLaw("0", signals=signals, states=states)

    def external_law(self, name: str, resolve: Callable[[str], Path]) -> FmuLaw | OutputLaw:
        """Return the law of the unit, or of a further output."""
        limits = self.limits or (-math.inf, math.inf)
        if self.file is None:
            return OutputLaw(name, str(self.unit), self.output, limits)
        return FmuLaw(name, resolve(self.file), tuple(self.inputs), self.output, tuple(self.start.items()), limits)

    def problems(
        self, resolve: Callable[[str], Path], above: Mapping[str, ActuatorSpec]
    ) -> Iterator[tuple[NodePath, str]]:
        """Yield the errors of the file, and scalars of type Real or Float64 that it does not have."""
        owner = self
        if self.unit is not None:
            units_above = {name: one for name, one in above.items() if isinstance(one, FmuSpec) and one.file}
            if self.unit not in units_above:
                yield ("unit",), f"no actuator above has a unit `{self.unit}`: {nearest(self.unit, units_above)}"
                return
            owner = units_above[self.unit]
            if owner.sampling_period != self.sampling_period:
                yield (), f"expected the `period` of `{self.unit}`, {owner.sampling_period:g} s, whose unit it reads"
        file = resolve(str(owner.file))
        if not file.is_file():
            if owner is self:
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
        self._law, self._time, self._kept = law, math.nan, ""
        self._fmu: Any = None
        self._keeps = False
        self._set: Callable[[list[float]], None]
        self._get: Callable[[str], float]

    def __call__(self, before: float | None, time: float, inputs: Floats) -> float:
        """Advance from the sample `before` to one at `time`, and return the force there."""
        law = self._law
        if before is not None and before != self._time:
            raise RunFailed(
                f"actuators.{law.name}: the state of the unit {law.file} is not kept in checkpoints, since it cannot "
                "be saved (`canSerializeFMUState`), so that the run cannot continue from one: run it from the start"
            )
        with _errors_of(law.name, law.file, time):
            if before is None:
                self._kept = ""
                self._open(time, inputs)
            else:
                if self._kept:
                    self._set_state(before, inputs)
                if time > before:
                    self._fmu.doStep(before, time - before)
                self._set(inputs.tolist())
        self._time = time
        return self.read(law.name, law.output, law.limits, time)

    def read(self, name: str, output: str, limits: tuple[float, float], time: float) -> float:
        """Return an output at the last sample, within limits, as the force of an actuator."""
        with _errors_of(name, self._law.file, time):
            found = self._get(output)
        if not math.isfinite(found):
            raise RunFailed(f"actuators.{name}: `{output}` of the unit {self._law.file} is {found} at {time:.9g} s")
        return min(max(found, limits[0]), limits[1])

    def state(self) -> str:
        """Return the serialized state of the unit; empty if it cannot be saved."""
        if self._kept or not self._keeps:
            return self._kept
        state = self._fmu.getFMUState()
        try:
            return b64encode(self._fmu.serializeFMUState(state)).decode()
        finally:
            self._fmu.freeFMUState(state)

    def resume(self, time: float, state: str) -> None:
        """Continue from a state of the unit; the next sample sets it."""
        self._time, self._kept = time, state

    def _set_state(self, time: float, inputs: Floats) -> None:
        """Set the state of the unit behind the sample at a time, s."""
        if self._fmu is None:
            self._open(time, inputs)
        state = self._fmu.deserializeFMUState(b64decode(self._kept))
        self._fmu.setFMUState(state)
        self._fmu.freeFMUState(state)
        self._kept = ""

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
        of_inputs, can = [references[name] for name in self._law.inputs], description.coSimulation
        self._set = lambda values: set_(of_inputs, values) if values else None
        self._get = lambda output: float(get([references[output]])[0])
        self._keeps = can.canGetAndSetFMUstate and can.canSerializeFMUstate
        apply_start_values(fmu, description, dict(self._law.start))
        if is_second:
            fmu.setupExperiment(startTime=time)
            fmu.enterInitializationMode()
        else:
            fmu.enterInitializationMode(startTime=time)
        self._set(inputs.tolist())
        fmu.exitInitializationMode()


class _Output:
    """A further output of a unit, which is stateless by itself."""

    def __init__(self, law: OutputLaw, unit: _Unit) -> None:
        self._law, self._unit = law, unit

    def __call__(self, before: float | None, time: float, inputs: Floats) -> float:
        """Return the force at a sample, to which the unit has advanced."""
        return self._unit.read(self._law.name, self._law.output, self._law.limits, time)

    def state(self) -> str:
        """Return nothing."""
        return ""

    def resume(self, time: float, state: str) -> None:
        """Do nothing: the unit has the state."""


@contextmanager
def _errors_of(name: str, file: Path, time: float) -> Iterator[None]:
    """Turn exceptions of FMPy and of the unit, which have types of their own, into the failure of a run."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RunFailed(f"actuators.{name}: the unit {file} failed at {time:.9g} s: {reason}") from error


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
