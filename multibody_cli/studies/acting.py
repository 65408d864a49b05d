"""Forces of joints on their coordinates, and the names of all other forces and constraints of a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.model import Model
from multibody_cli.spec import SignalSpec
from multibody_cli.studies.simulation import Simulation

Naming = Callable[[str, int], str]
"""Function from `q` or `v` and an index, counted from 0, to a name."""


def joint_forces_of(simulation: Simulation, n: int, naming: Naming) -> list[list[Any]]:
    """Return the forces of joints on each of their coordinates, as summands: SymPy formulas, or text.

    Parameters
    ----------
    simulation
        The scene.
    n
        Number of coordinates, counted from the first.
    naming
        Names of position coordinates and velocities.
    """
    model = simulation.compiled.model
    places = {int(one["iv"]): int(one["iq"]) for one in model.system.tree.plain}
    joint_forces: list[list[Any]] = [[] for _ in range(n)]
    for entry in model.names.joints:
        joint = simulation.scene.joints[entry.name]
        if isinstance(joint, MovingJointSpec):
            for k, column in enumerate(range(entry.columns.start, min(entry.columns.stop, n))):
                joint_forces[column] += _joint_forces(joint, k, naming("q", places.get(column, 0)), naming("v", column))
    return joint_forces


def _joint_forces(joint: MovingJointSpec, k: int, q: str, v: str) -> Iterator[Any]:
    """Forces of a joint on its coordinate k."""
    import sympy

    from multibody_cli.equations.simplified import number

    if joint.stiffness is not None and joint.stiffness[k]:
        rest = getattr(joint, "rest", None)
        stretch = sympy.Symbol(q) - number(rest[k] if rest and joint.plain[k] else 0.0)
        yield sympy.Mul(number(-joint.stiffness[k]), stretch, evaluate=False) if joint.plain[k] else "rotation spring"
    if joint.damping is not None and joint.damping[k]:
        yield number(-joint.damping[k]) * sympy.Symbol(v)
    if joint.force is not None:
        yield from _signal(joint.force[k])
    if joint.motion is not None and joint.motion.signals[k] is not None:
        prescribed = next(_signal(joint.motion.signals[k]), 0)
        yield f"force of the prescribed {joint.motion.given} {prescribed}"


def _signal(signal: SignalSpec | None) -> Iterator[Any]:
    from multibody_cli.equations.simplified import as_written, number

    assert signal is not None
    if signal.expression is not None and signal.uses_state:
        yield signal.expression.text
    elif signal.expression is not None:
        yield as_written(signal.expression)
    elif signal.times:
        yield "table(t)"
    elif signal.constant:
        yield number(signal.constant)


def omitted_effects(simulation: Simulation) -> list[str]:
    """Return the names of body forces, constraints and contacts, which the equations omit."""
    scene, model = simulation.scene, simulation.compiled.model
    words = [
        f"{section} {_listed(list(entries))}"
        for section in ("springs", "muscles", "strands", "forces", "actuators", "couplings", "constraints")
        if (entries := getattr(scene, section))
    ]
    limited = [name for name, joint in scene.joints.items() if isinstance(joint, MovingJointSpec) and joint.bounds]
    closing = [joint.name for joint in model.names.joints if _closes(model, joint.row)]
    named = {
        "joints that close loops:": closing,
        "limits of": limited,
        "dry friction of": list(model.names.friction_joints),
    }
    words += [f"{what} {_listed(names)}" for what, names in named.items() if names]
    return [*words, "contacts"] if scene.contacts is not None else words


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _closes(model: Model, row: int) -> bool:
    return row >= len(model.system.tree.links)
