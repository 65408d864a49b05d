"""Tables of forces, with the names of columns that OpenSim has: `knee_angle_r_moment`, `pelvis_tx_force`."""

from __future__ import annotations

from multibody_cli.output.table_formats import Column
from multibody_cli.studies.inverse.coordinates import CoordinateName
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
from multibody_cli.studies.inverse.kinematic_analysis import Kinematics


def force_columns(found: InverseDynamics) -> list[Column]:
    """Return the forces of inverse dynamics."""
    columns = [("time", "s", "Time of each instant.", found.times)]
    for k, one in enumerate(found.coordinates):
        kind, unit = kind_of(one)
        text = f"Force on {one.name} that causes the motion."
        columns.append((f"{one.name}_{kind}", unit, text, found.forces[:, k]))
    for k, one in enumerate(found.coordinates if found.muscles else ()):
        text = f"Part of the force on {one.name} that muscles do not supply."
        columns.append((f"{one.name}_reserve", kind_of(one)[1], text, found.reserves[:, k]))
    touching = dict.fromkeys(name for contacts in found.contacts for one in contacts for name in one[:2])
    for name in touching:
        forces = found.contact_force(name)
        for k, axis in enumerate("xyz"):
            text = f"Resultant force of the contacts on {name}, world axes."
            columns.append((f"{name}_contact_force_{axis}", "N", text, forces[:, k]))
    for k, name in enumerate(found.muscles):
        columns.append((f"{name}_activation", "1", f"Activation of {name}.", found.activations[:, k]))
    for k, name in enumerate(found.muscles):
        columns.append((f"{name}_tension", "N", f"Tension of {name}.", found.tensions[:, k]))
    return columns


def motion_columns(found: Kinematics) -> list[Column]:
    """Return the motion of kinematic analysis; rates and accelerations have the names of their coordinates."""
    columns: list[Column] = [("time", "s", "Time of each instant.", found.times)]
    for k, one in enumerate(found.coordinates):
        if one.is_plain:
            columns.append((one.name, one.unit, f"Coordinate {one.name}.", found.q[:, k]))
        columns.append((f"{one.name}_rate", f"{one.unit}/s", f"Rate of {one.name}.", found.v[:, k]))
        columns.append((f"{one.name}_acceleration", f"{one.unit}/s^2", f"Acceleration of {one.name}.", found.a[:, k]))
    for linkage in found.linkages:
        name = f"{linkage.name}_transmission_angle"
        columns.append((name, "rad", "Acute angle between the lines of coupler and output.", linkage.transmission))
    return columns


def kind_of(one: CoordinateName) -> tuple[str, str]:
    """Return `moment` or `force`, and the unit, of the force on a coordinate."""
    return {"rad": ("moment", "N m"), "m": ("force", "N")}.get(one.unit, ("force", "J"))
