"""Registry of the output channels.

To add a channel, add one entry to `CHANNELS` (`contact_channels.py` has the channels of contacts, `path_channels.py`
those of combinations and paths, `rope_channels.py` those of ropes, `wrench_channels.py` those of wrenches), with the
field of `Samples` that it reads and the file of `observation` that computes this field.  The samples, the kernel that
fills them, the writer, the reader, the list of datasets in `schemas/` and the reference page follow from the registry.
A path may contain a placeholder in braces, such as `{joint}`: the channel then becomes one dataset for each element of
that kind.  `elements.py` defines the placeholders and the names of the axes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from multibody_cli.output.channel import VARIATIONAL_STEPS, Channel
from multibody_cli.output.contact_channels import CONTACT_CHANNELS
from multibody_cli.output.path_channels import PATH_CHANNELS
from multibody_cli.output.rope_channels import ROPE_CHANNELS
from multibody_cli.output.wrench_channels import WRENCH_CHANNELS

# --- properties of several channels -----------------------------------------------------------------------------------
_ERROR: dict[str, Any] = {"rtol": 0.0, "atol": 1e-6}
"""The exact value is zero, so only an absolute tolerance applies."""

_COUNT: dict[str, Any] = {"dtype": "<i8", "rtol": 0.0, "atol": 0.0}

_of_bodies = partial(Channel, reader="bodies", frame="world", dimensions=("body", "xyz"))

_of_rows = partial(Channel, reader="constraints", dimensions=("row",), role="constraint")

_of_sensor = partial(Channel, reader="sensors", frame="sensor", dimensions=("xyz",))

_of_point = partial(Channel, reader="points", frame="world", dimensions=("xyz",))

_energy = partial(Channel, units="J", role="energy")

_momentum = partial(Channel, frame="world", dimensions=("xyz",), role="momentum")

_solver = partial(Channel, role="solver")


CHANNELS: tuple[Channel, ...] = (
    Channel("time", "s", "Time of each output instant.", "time", "state", rtol=1e-12, atol=1e-12, role="instant"),
    _of_bodies("bodies/position", "m", "Position of the origin of each body frame.", "position"),
    Channel(
        "bodies/quaternion",
        "1",
        "Orientation of each body frame as a unit quaternion (w, x, y, z). The sign is continuous in time.",
        "quaternion",
        "bodies",
        select=lambda block, _: block.quaternion[:, : block.samples.quaternion.shape[1]],
        frame="world",
        dimensions=("body", "wxyz"),
        same="sign",
    ),
    _of_bodies("bodies/linear_velocity", "m/s", "Velocity of the origin of each body frame.", "linear_velocity"),
    _of_bodies("bodies/angular_velocity", "rad/s", "Angular velocity of each body.", "angular_velocity"),
    Channel(
        "bodies/{affine}/deformation",
        "1",
        "Deformation gradient A of an affine body, row by row: the material point X of the body frame lies at A X from "
        "the origin of the body frame.",
        "deformation",
        "bodies",
        frame="world",
        dimensions=("matrix",),
    ),
    Channel(
        "joints/{joint}/q",
        "{q}",
        "Coordinates of the joint. Spatial rotations are rotation vectors.",
        "coordinates",
        "state",
        frame="parent's joint frame",
        dimensions=("coordinate",),
        same="{q}",
    ),
    Channel(
        "joints/{joint}/v",
        "{q}/s",
        "Velocities of the joint. Ball joint: angular velocity in the child's joint frame. Free joint: "
        "[linear; angular] velocity in the parent's joint frame.",
        "velocity",
        "state",
        frame="see the description",
        dimensions=("coordinate",),
    ),
    Channel(
        "joints/{joint}/acceleration",
        "{q}/s^2",
        "Time derivatives of the joint velocities.",
        "acceleration",
        "accelerations",
        frame="as for the joint velocities",
        dimensions=("coordinate",),
        atol=1e-7,
    ),
    *WRENCH_CHANNELS,
    Channel(
        "joints/{joint}/constraint_error",
        "m",
        "Loop-closure error: norm of the displacement between the parent's and the child's joint frames in the "
        "constrained directions, with angles times the length of the mechanism. 0 for a joint of the tree.",
        "constraint_error",
        "joints",
        role="constraint",
        **_ERROR,
    ),
    _of_rows(
        "joints/{limited}/limit_force",
        "N or N m",
        "Generalized force of each limit of the joint, lower limit before upper limit; positive toward the interior of "
        "the range.",
        "multiplier",
        atol=1e-7,
    ),
    *(
        channel
        for section, word in (("couplings", "coupling"), ("constraints", "constraint"))
        for channel in (
            _of_rows(
                f"{section}/{{{word}}}/multiplier",
                "N or N m",
                f"Multiplier of each row of the {word}: the generalized force conjugate to the error of the row, "
                "positive in the direction in which the error increases.",
                "multiplier",
                atol=1e-7,
            ),
            _of_rows(
                f"{section}/{{{word}}}/error",
                "m or rad",
                f"Position error of each row of the {word}; 0 for a row that constrains velocities only.",
                "row_error",
                **_ERROR,
            ),
        )
    ),
    *PATH_CHANNELS,
    *ROPE_CHANNELS,
    *CONTACT_CHANNELS,
    # discrete invariants and diagnostics of variational methods, from `methods.contract.VariationalDiagnostics`
    _energy(
        "energy/modified",
        description="Modified energy of the last step. A variational integrator of constant step conserves it without "
        "dissipation, to a higher order in the step than the energy. At the start of a run: the energy.",
        field="modified_energy",
        reader=lambda report: report.diagnostics.modified_energy,
        element=VARIATIONAL_STEPS,
    ),
    _momentum(
        "momentum/discrete_linear",
        "kg m/s",
        "Discrete linear momentum of all bodies in the last step: mass times displacement over the step.",
        "discrete_linear_momentum",
        lambda report: report.diagnostics.momentum[:3],
        element=VARIATIONAL_STEPS,
    ),
    _momentum(
        "momentum/discrete_angular",
        "kg m^2/s",
        "Discrete angular momentum of all bodies about the world origin in the last step, from the discrete "
        "Lagrangian.",
        "discrete_angular_momentum",
        lambda report: report.diagnostics.momentum[3:],
        element=VARIATIONAL_STEPS,
    ),
    _solver(
        "solver/residual_impulse",
        "N s or N m s",
        "Largest residual impulse of the discrete equations of motion of a step since the last output. The next step "
        "compensates for it.",
        "residual_impulse",
        lambda report: report.diagnostics.residual_impulse,
        element=VARIATIONAL_STEPS,
        **_ERROR,
    ),
    _solver(
        "solver/fallbacks",
        "1",
        "Steps since the last output that needed the fallback solver.",
        "fallbacks",
        lambda report: report.diagnostics.fallbacks,
        element=VARIATIONAL_STEPS,
        **_COUNT,
    ),
    _solver(
        "solver/step_subdivisions",
        "1",
        "Step subdivisions since the last output: a step is halved when its solver does not converge.",
        "step_subdivisions",
        lambda report: report.diagnostics.step_subdivisions,
        element=VARIATIONAL_STEPS,
        **_COUNT,
    ),
    # of a kinematic analysis, from `methods.contract.LinkagePositions`
    Channel(
        "four_bars/{four_bar}/transmission_angle",
        "rad",
        "Acute angle between the lines of coupler and output.",
        "transmission_angle",
        lambda report: report.linkages.transmission,
    ),
    Channel(
        "four_bars/{four_bar}/branch",
        "1",
        "Assembly branch: 1 if the pin of coupler and output is left of the line from the pin of input and coupler to "
        "that of the output on the frame, -1 if it is right of it, 0 on the line.",
        "branch",
        lambda report: report.linkages.branch,
        **_COUNT,
    ),
    Channel(
        "actuators/{actuator}/force",
        "N or N m",
        "Force of the actuator on each of its coordinates, or on the length of its path.",
        "actuator_force",
        "actuators",
        dimensions=("actuated",),
        atol=1e-7,
        role="reaction",
    ),
    Channel(
        "actuators/{filtered}/activation",
        "1 or SI",
        "Activation of the filter of the actuator, in the unit of its input.",
        "actuator_activation",
        "actuators",
    ),
    Channel("inputs/{input}", "1 or SI", "Value of the input, in SI units.", "input", "inputs"),
    Channel("springs/{spring}/length", "m", "Length of the spring along its path points.", "spring_length", "springs"),
    Channel(
        "springs/{spring}/force",
        "N",
        "Tension of the spring and its damper, positive in tension.",
        "spring_force",
        "springs",
    ),
    Channel("muscles/{muscle}/length", "m", "Length of the path, fibers and tendon.", "muscle_length", "muscles"),
    Channel("muscles/{muscle}/velocity", "m/s", "Rate of the length of the path.", "muscle_velocity", "muscles"),
    Channel("muscles/{muscle}/force", "N", "Tension of the muscle, that of its tendon.", "muscle_force", "muscles"),
    Channel("muscles/{muscle}/activation", "1", "Activation of the muscle, from 0 to 1.", "activation", "muscles"),
    Channel("muscles/{muscle}/fiber_length", "m", "Length of the fibers.", "fiber_length", "muscles"),
    Channel("muscles/{muscle}/fiber_velocity", "m/s", "Rate of the length of the fibers.", "fiber_velocity", "muscles"),
    Channel("muscles/{muscle}/pennation", "rad", "Angle of the fibers to the tendon.", "pennation", "muscles"),
    Channel(
        "muscles/{crossing}/moment_arm",
        "m or 1",
        "Moment arms -(d length)/(d q) of the muscle path, one for each coordinate of the joints that it crosses.",
        "moment_arm",
        "moment_arms",
        dimensions=("crossed",),
    ),
    _of_sensor(
        "sensors/{sensor}/specific_force",
        "m/s^2",
        "Specific force at the origin of the sensor, its acceleration minus the gravitational acceleration: the signal "
        "of an accelerometer. With contacts or dry friction of joints, their forces are the impulses of the last step "
        "before the output, divided by the step.",
        "specific_force",
        atol=1e-7,
    ),
    _of_sensor(
        "sensors/{sensor}/angular_velocity",
        "rad/s",
        "Angular velocity of the sensor: the signal of a gyroscope.",
        "sensor_angular_velocity",
    ),
    _of_point("points/{point}/position", "m", "Position of the named point of a body.", "point_position"),
    Channel(
        "points/{point}/quaternion",
        "1",
        "Orientation of the frame of the point as a unit quaternion (w, x, y, z). The sign is continuous in time.",
        "point_quaternion",
        "points",
        select=lambda block, item: block.quaternion[:, block.samples.quaternion.shape[1] + item.at],
        frame="world",
        dimensions=("wxyz",),
        same="sign",
    ),
    _of_point("points/{point}/linear_velocity", "m/s", "Velocity of the point.", "point_linear_velocity"),
    _of_point(
        "points/{point}/angular_velocity",
        "rad/s",
        "Angular velocity of the frame of the point, which is that of its body.",
        "point_angular_velocity",
    ),
    _of_point(
        "points/{point}/acceleration",
        "m/s^2",
        "Acceleration of the point. With contacts or dry friction of joints: see `specific_force` of sensors.",
        "point_acceleration",
        atol=1e-7,
    ),
    _energy("energy/kinetic", description="Kinetic energy.", field="kinetic", reader="energy"),
    _energy(
        "energy/potential",
        description="Gravitational potential energy; zero for a mass at the world origin.",
        field="potential",
        reader="energy",
    ),
    _energy("energy/elastic", description="Elastic energy of all springs.", field="elastic", reader="energy"),
    _energy(
        "energy/total",
        description="Sum of kinetic, potential and elastic energy.",
        select=lambda block, _: block.total,
    ),
    Channel(
        "energy/work/{work}",
        "J",
        "Work done on the system since the start of the run by this actuator, force or prescribed motion.",
        "accounts",
        "state",
        role="input",
    ),
    _energy(
        "energy/dissipation/{dissipation}",
        description="Energy dissipated since the start of the run by this damper, drag, friction, or impacts on these "
        "limits.",
        field="accounts",
        reader="state",
    ),
    _energy(
        "energy/ledger_residual",
        description="Residual of the energy balance: total - total at the start - work + dissipation.",
        select=lambda block, _: block.ledger_residual,
        **_ERROR,
    ),
    _momentum("momentum/linear", "kg m/s", "Total linear momentum of the bodies.", "linear_momentum", "momentum"),
    _momentum(
        "momentum/angular",
        "kg m^2/s",
        "Total angular momentum of the bodies about the world origin.",
        "angular_momentum",
        "momentum",
    ),
    Channel(
        "solver/iterations",
        "1",
        "Largest number of iterations of the method in a step since the last output.",
        "iterations",
        lambda report: report.iterations,
        rtol=0.0,
        atol=2.0,
        dtype="<i8",
        role="effort",
    ),
    _solver(
        "solver/residual",
        "m or rad",
        "Largest position error of loop joints and constraints, relative to 1 rad and to the length of the mechanism.",
        "residual",
        "constraints",
        **_ERROR,
    ),
)

_DECLARED = {
    (channel.path.partition("{")[0], channel.path.partition("}")[2] if "{" in channel.path else ""): channel
    for channel in CHANNELS
}
"""Channels by the texts before and after the placeholder of their paths."""

_GROUPS = sorted({head for head, _ in _DECLARED if head.endswith("/")}, key=len, reverse=True)

_COMPONENTS = {"points/": 2}
"""Components of the path that name an element, where these are more than one: a body and its point."""


def declaration_of(path: str) -> Channel | None:
    """Return the declaration of a channel of a model by its path; None if it has none."""
    if (path, "") in _DECLARED:
        return _DECLARED[path, ""]
    for group in _GROUPS:
        if path.startswith(group):
            parts = path[len(group) :].split("/")
            tail = "/".join(["", *parts[_COMPONENTS.get(group, 1) :]]) if (group, "") not in _DECLARED else ""
            return _DECLARED.get((group, tail))
    return None


FILES = tuple(dict.fromkeys(one.reader for one in CHANNELS if isinstance(one.reader, str) and one.reader))
"""Files of `observation` that channels name."""
