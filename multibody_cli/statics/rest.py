"""Models at rest: laws of actuators, prescribed motions that hold, elements without equilibrium, and messages."""

from __future__ import annotations

import numpy as np

from multibody_cli.actuators.controllers import with_initial_values
from multibody_cli.errors import RunFailed
from multibody_cli.forces import joint_control, tension
from multibody_cli.forces.elements import PLACES, evaluate_signals
from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import placed
from multibody_cli.initial.largest_force import find_largest_force, start_of
from multibody_cli.kernel import Flags, Floats, Integers, records
from multibody_cli.model import Model, State
from multibody_cli.statics.search import NoEquilibrium


def with_laws_at_rest(model: Model) -> Model:
    """Return the model with the forces that sampled, delayed and filtered actuators have at rest, without samples.

    Raises
    ------
    RunFailed
        An actuator keeps a number that the state does not determine.
    """
    for one in model.controllers:
        if one.external is not None or any(update.at_rest is None for update in one.updates):
            raise RunFailed(
                f"no equilibrium: the force of `actuators.{one.name}` at rest depends on its past, as on an integral: "
                "replace it by one without, such as `pd`"
            )
    laws = {moving: still for one in model.controllers for moving, still in one.at_rest.items()}

    def replaced(signals: Integers) -> list[int]:
        return [laws.get(signal, signal) for signal in signals.tolist()]

    tables = list(model.system.forces.tables)
    for place in (PLACES[joint_control.ELEMENT.name], PLACES[tension.ELEMENT.name]):
        table = np.array(tables[place])
        table["signal"] = replaced(table["signal"])
        tables[place] = records(table)
    forces = model.system.forces._replace(tables=tuple(tables))
    activations = np.array(replaced(model.activations), np.int64)
    return replace(model, system=model.system._replace(forces=forces), controllers=(), activations=activations)


def with_values_at_rest(model: Model, state: State) -> Model:
    """Return the model whose actuators start with the values that they hold at rest in a state."""
    signals = [update.at_rest for one in model.controllers for update in one.updates]
    values = values_of(model, state, np.array(signals, np.int64))
    return replace(model, controllers=with_initial_values(model.controllers, values.tolist()))


def values_of(model: Model, state: State, signals: Integers) -> Floats:
    """Return the values (n,) of signals (n,) in a state."""
    values, bodies = np.zeros(len(signals)), placed(model, state).bodies
    evaluate_signals(model.system.forces, signals, state.time[0], state.q, state.v, bodies, values)
    return values


def with_held_motions(model: Model, moving: Flags) -> Model:
    """Return the model in which prescribed coordinates keep their values, but for those (nv,) with a steady motion."""
    motions = model.system.motions
    rows = motions.rows[moving[motions.rows["iv"]]]
    return replace(model, system=model.system._replace(motions=motions._replace(rows=rows)))


def objection_to_equilibrium(model: Model) -> str:
    """Return why a scene has no single equilibrium; "" if it may have one."""
    names = model.names
    if not names.contacts and not names.has_dry_friction:
        return ""
    kind = "contacts" if names.contacts else "dry friction"
    return f"the scene has {kind}, whose equilibria are a set: `mbsim equilibrium --write` makes a scene in one"


def explained(model: Model, error: NoEquilibrium) -> str:
    """Return the message of a search that failed: where, why, and the element with the largest force."""
    largest = find_largest_force(model, start_of(error.state, placed(model, error.state)))
    force = f"{largest.name}, {largest.value:.3g} {largest.unit}" if largest and largest.value else ""
    cause = f"; the largest force there is that of {force}" if force else ""
    return (
        f"no equilibrium at t = {float(error.state.time[0]):g} s downhill from the start: "
        f"{model.names.coordinates[error.coordinate]} has the largest unbalanced force, and {error}{cause}. Check that "
        "a joint, a spring, a limit or a constraint holds it, or start nearer; start in an unstable equilibrium itself"
    )
