"""The actuators of a scene, packed into signals, forces on coordinates, and sampled controllers."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import numpy as np

from multibody_cli.actuators.computed_torque import ComputedTorqueSpec
from multibody_cli.actuators.contract import ActuatorSpec, ControlLaw
from multibody_cli.actuators.controllers import Controller, HeldValue
from multibody_cli.escaping import path_component
from multibody_cli.expressions import constant, with_values
from multibody_cli.forces.joint_control import COMMAND
from multibody_cli.kernel import records
from multibody_cli.model import Records
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.packing.quantities import Axis, PathReference, combination_of, coordinate_of
from multibody_cli.scene.load import LoadedScene
from multibody_cli.spec import SignalSpec

_ACCELERATION = "target_curve + kd*(target_rate - v) + kp*(target - q)"


class ActuatorPacker:
    """Adds the actuators of a scene to the forces.

    `rows` are those of the joints by name, and `step` that of the run, s.  `controllers` are the sampled ones, and
    `activations` the signals of the activations of filters.
    """

    def __init__(self, packer: ForcePacker, rows: Mapping[str, int], step: float) -> None:
        self._packer = packer
        self._rows = rows
        self._step = step
        self.controllers: list[Controller] = []
        self.activations: list[int] = []
        self._commands: list[tuple[int, int, int, int]] = []

    @property
    def commands(self) -> Records:
        """The coordinates with a commanded acceleration: see `forces.joint_control`."""
        return records(np.array(self._commands, COMMAND))

    def add_section(self, loaded: LoadedScene) -> None:
        """Add all actuators."""
        for name, actuator in loaded.scene.actuators.items():
            account = self._packer.account("work", f"actuators/{path_component(name)}")
            if isinstance(actuator, ComputedTorqueSpec):
                self._add_computed_torque(account, actuator)
            else:
                assert isinstance(actuator, ActuatorSpec)
                self._add(loaded, name, account, actuator)

    def _add(self, loaded: LoadedScene, name: str, account: int, actuator: ActuatorSpec) -> None:
        own: Axis
        scene = loaded.scene
        if actuator.combination is not None:
            own = combination_of(scene.combinations[actuator.combination])
        elif actuator.path is not None:
            own = PathReference(actuator.path)
        else:
            own = coordinate_of(actuator.axis)
        law = actuator.filtered_law()
        held = {state: self._packer.quantities.held() for state in law.states}
        force, quantities = self._bound(actuator.limited(law.force), law, own, held)
        period, tables = actuator.sampling_period, self._tables(law)
        if period is None and not law.states:
            self._packer.add_control(account, own, force, quantities, tables)
            return
        updates: list[HeldValue] = []
        rest = actuator.law_at_rest()

        def at_rest(text: str) -> int:
            return self._packer.expression(*self._bound(text, rest, own, held), tables)

        force_at_rest = at_rest(actuator.limited(rest.force))
        if period is None:
            moving = self._packer.add_control(account, own, force, quantities, tables)
        else:
            output = self._packer.quantities.held()
            number = self._packer.expression(force, quantities, tables)
            updates.append(HeldValue(number, output, actuator.delay, at_rest=force_at_rest))
            moving = self._packer.add_control(account, own, ast.Name("output"), {"output": output}, {})
        for state, rule in law.states.items():
            following, quantities = self._bound(rule.following, law, own, held)
            number = self._packer.expression(following, quantities, tables)
            still = None if rule.at_rest is None else at_rest(rule.at_rest)
            updates.append(HeldValue(number, held[state], initial=rule.initial, at_rest=still))
        replaced = {moving: force_at_rest}
        if actuator.filter is not None:
            self.activations.append(self._packer.expression(*self._bound("activation", law, own, held), {}))
            replaced[self.activations[-1]] = at_rest("activation")
        external = actuator.external_law(name, lambda file: loaded.resolve_path(file, "actuators", name))
        self.controllers.append(Controller(name, period or self._step, tuple(updates), replaced, external))

    def _add_computed_torque(self, account: int, actuator: ComputedTorqueSpec) -> None:
        numbers = {"kp": actuator.kp, "kd": actuator.kd}
        for word, target in actuator.joints.items():
            own = coordinate_of(word)
            body, quantities = self._bound(_ACCELERATION, ControlLaw("", numbers, {"target": target}), own, {})
            number = self._packer.expression(body, quantities, {})
            iv = self._packer.quantities.places[own][1]
            self._commands.append((self._rows[own.joint], iv, number, account))

    def _tables(self, law: ControlLaw) -> dict[str, int]:
        return {name: self._packer.table(*columns) for name, columns in law.tables.items()}

    def _bound(self, text: str, law: ControlLaw, own: Axis, held: Mapping[str, int]) -> tuple[ast.expr, dict[str, int]]:
        """Return a law as an expression of quantities, with their numbers."""
        values: dict[str, ast.expr] = {name: constant(value) for name, value in law.parameters.items()}
        of_axis, read_by_axis = self._packer.quantities.values_of(own)
        quantities = dict(held) | read_by_axis
        parsed = ast.parse(text, mode="eval").body
        defined = {name: ast.parse(one, mode="eval").body for name, one in law.definitions.items()}
        names = {node.id for one in (parsed, *defined.values()) for node in ast.walk(one) if isinstance(node, ast.Name)}
        for name, signal in law.signals.items():
            if signal.uses_state:
                assert signal.expression is not None
                values[name], read_by_signal = self._packer.quantities.bound(signal.expression, own)
                quantities |= read_by_signal
            else:
                self._add_function_of_time(name, signal, names, values, quantities)
        defined = {name: with_values(one, values) for name, one in defined.items()}
        body = with_values(with_values(with_values(parsed, values), defined), of_axis)
        read = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        return body, {name: place for name, place in quantities.items() if name in read}

    def _add_function_of_time(
        self,
        name: str,
        signal: SignalSpec,
        names: set[str],
        values: dict[str, ast.expr],
        quantities: dict[str, int],
    ) -> None:
        """Provide a function of time and its derivatives by their names."""
        asked = {suffix: order for order, suffix in enumerate(("", "_rate", "_curve")) if name + suffix in names}
        if signal.constant is not None:
            values |= {name + suffix: constant(0.0 if order else signal.constant) for suffix, order in asked.items()}
            return
        k = self._packer.signal(signal)
        for suffix, order in asked.items():
            quantities[name + suffix] = self._packer.quantities.time_function(k, order)
