"""The channels: everything that a run can record, one entry each.

To add a channel, add one entry to `CHANNELS` (those of contacts stand in `contact_channels.py`,
those of variational methods in `variational_channels.py`): the writer, the
reader, the list of datasets in `schemas/` and the reference page find it there.  A path may hold a word in braces,
such as `{joint}`: the channel is then written once for each element of that kind.  The words, and the names of the
axes, stand in `series.py`.
"""

from __future__ import annotations

from multibody_cli.output.channel import Channel
from multibody_cli.output.contact_channels import CONTACT_CHANNELS
from multibody_cli.output.variational_channels import VARIATIONAL_CHANNELS

MOMENT_FORCE_UNITS = "N m, N m, N m, N, N, N"

CHANNELS: tuple[Channel, ...] = (
    Channel("time", "s", "Output instants.", lambda b, _: b.samples.time, rtol=1e-12, atol=1e-12, role="instant"),
    Channel(
        "bodies/position",
        "m",
        "Position of the origin of each body frame.",
        lambda b, _: b.samples.position,
        frame="world",
        dimensions=("body", "xyz"),
    ),
    Channel(
        "bodies/quaternion",
        "1",
        "Orientation of each body frame as a unit quaternion (w, x, y, z); its sign is continuous in time.",
        lambda b, _: b.quaternion,
        frame="world",
        dimensions=("body", "wxyz"),
        same="sign",
    ),
    Channel(
        "bodies/linear_velocity",
        "m/s",
        "Velocity of the origin of each body frame.",
        lambda b, _: b.samples.linear_velocity,
        frame="world",
        dimensions=("body", "xyz"),
    ),
    Channel(
        "bodies/angular_velocity",
        "rad/s",
        "Angular velocity of each body.",
        lambda b, _: b.samples.angular_velocity,
        frame="world",
        dimensions=("body", "xyz"),
    ),
    Channel(
        "bodies/{affine}/deformation",
        "1",
        "Of an affine body: the matrix A, row by row, that takes a point X of the body frame to A X from its origin.",
        lambda b, body: b.samples.deformation[:, body.at],
        frame="world",
        dimensions=("matrix",),
    ),
    Channel(
        "joints/{joint}/q",
        "{q}",
        "Coordinates of the joint; a rotation is a rotation vector.",
        lambda b, joint: b.samples.coordinates[:, joint.columns],
        frame="parent's joint frame",
        dimensions=("coordinate",),
        same="{q}",
    ),
    Channel(
        "joints/{joint}/v",
        "{q}/s",
        "Velocities of the joint; of a ball joint the angular velocity in the child's joint frame, of a free "
        "joint [linear, angular] in the parent's joint frame.",
        lambda b, joint: b.samples.velocity[:, joint.columns],
        frame="that of the joint's coordinates: see the description",
        dimensions=("coordinate",),
    ),
    Channel(
        "joints/{joint}/acceleration",
        "{q}/s^2",
        "Time derivatives of the velocities of the joint.",
        lambda b, joint: b.samples.acceleration[:, joint.columns],
        frame="that of the joint's velocities",
        dimensions=("coordinate",),
        atol=1e-7,
    ),
    Channel(
        "joints/{joint}/force",
        MOMENT_FORCE_UNITS,
        "All that the joint transmits from parent to child (constraint, actuator, spring, damper and friction), as a "
        "wrench [moment; force] about the origin of the child's joint frame.",
        lambda b, joint: b.samples.reaction[:, joint.at],
        frame="joint frame of the child",
        dimensions=("moment_force",),
        atol=1e-7,
        role="reaction",
    ),
    Channel(
        "joints/{rubbing}/friction",
        MOMENT_FORCE_UNITS,
        "The part of what the joint transmits that is dry friction.",
        lambda b, joint: b.samples.rubbing[:, joint.at],
        frame="joint frame of the child",
        dimensions=("moment_force",),
        atol=1e-7,
        role="reaction",
    ),
    Channel(
        "joints/{joint}/constraint_error",
        "m",
        "How far apart the parent's and the child's joint frame are in the directions that the joint locks; "
        "angles count in rad.",
        lambda b, joint: b.samples.constraint_error[:, joint.at],
        rtol=0.0,
        atol=1e-6,  # zero but for errors of the method: only its size is compared
        role="constraint",
    ),
    Channel(
        "joints/{limited}/limit_force",
        "N or N m",
        "Push of each of the joint's limits, below before above, against leaving its range.",
        lambda b, entry: b.samples.multiplier[:, entry.columns],
        dimensions=("row",),
        atol=1e-7,
        role="constraint",
    ),
    *(
        channel
        for section, word in (("couplings", "coupling"), ("constraints", "constraint"))
        for channel in (
            Channel(
                f"{section}/{{{word}}}/multiplier",
                "N or N m",
                f"Multiplier of each row of the {word}: the force that belongs to the quantity it holds at 0, in the "
                "sense in which this grows.",
                lambda b, entry: b.samples.multiplier[:, entry.columns],
                dimensions=("row",),
                role="constraint",
                atol=1e-7,
            ),
            Channel(
                f"{section}/{{{word}}}/error",
                "m or rad",
                f"What each row of the {word} should hold at 0; 0 for a row that restrains velocities alone.",
                lambda b, entry: b.samples.row_error[:, entry.columns],
                dimensions=("row",),
                role="constraint",
                rtol=0.0,
                atol=1e-6,
            ),
        )
    ),
    *CONTACT_CHANNELS,
    *VARIATIONAL_CHANNELS,
    Channel(
        "springs/{spring}/length",
        "m",
        "Length of the spring along its points.",
        lambda b, spring: b.samples.spring_length[:, spring.at],
    ),
    Channel(
        "springs/{spring}/force",
        "N",
        "Tension of the spring and its damper: positive where it pulls.",
        lambda b, spring: b.samples.spring_force[:, spring.at],
    ),
    Channel(
        "muscles/{muscle}/length",
        "m",
        "Length of the muscle's path, fibers and tendon.",
        lambda b, muscle: b.samples.muscle_length[:, muscle.at],
    ),
    Channel(
        "muscles/{muscle}/velocity",
        "m/s",
        "Rate of that length: positive where the muscle lengthens.",
        lambda b, muscle: b.samples.muscle_velocity[:, muscle.at],
    ),
    Channel(
        "muscles/{muscle}/force",
        "N",
        "Tension of the muscle, of its active and its passive fibers.",
        lambda b, muscle: b.samples.muscle_force[:, muscle.at],
    ),
    Channel(
        "muscles/{muscle}/activation",
        "1",
        "Activation of the muscle, from 0 to 1.",
        lambda b, muscle: b.samples.activation[:, muscle.at],
    ),
    Channel(
        "muscles/{crossing}/moment_arm",
        "m or 1",
        "How much shorter the path gets for each unit of each coordinate of the joints that it crosses, "
        "-(d length)/(d q).",
        lambda b, muscle: b.samples.moment_arm[:, muscle.columns],
        dimensions=("crossed",),
    ),
    Channel("energy/kinetic", "J", "Kinetic energy.", lambda b, _: b.samples.kinetic, role="energy"),
    Channel(
        "energy/potential",
        "J",
        "Potential energy of gravity; zero for a mass at the world origin.",
        lambda b, _: b.samples.potential,
        role="energy",
    ),
    Channel("energy/elastic", "J", "Energy stored in springs.", lambda b, _: b.samples.elastic, role="energy"),
    Channel(
        "energy/total", "J", "Kinetic, potential and elastic energy together.", lambda b, _: b.total, role="energy"
    ),
    Channel(
        "energy/work/{work}",
        "J",
        "Work done on the system since the start by this actuator, force or prescribed motion.",
        lambda b, account: b.samples.accounts[:, account.at],
        role="input",
    ),
    Channel(
        "energy/dissipation/{dissipation}",
        "J",
        "Energy dissipated since the start by this damper, this drag, this friction, or the impacts on these limits.",
        lambda b, account: b.samples.accounts[:, account.at],
        role="energy",
    ),
    Channel(
        "energy/ledger_residual",
        "J",
        "What the energy balance misses: total - total at the start - all work + all dissipation.",
        lambda b, _: b.ledger_residual,
        rtol=0.0,
        atol=1e-6,
        role="energy",
    ),
    Channel(
        "momentum/linear",
        "kg m/s",
        "Linear momentum of all bodies.",
        lambda b, _: b.samples.linear_momentum,
        frame="world",
        dimensions=("xyz",),
        role="momentum",
    ),
    Channel(
        "momentum/angular",
        "kg m^2/s",
        "Angular momentum of all bodies about the world origin.",
        lambda b, _: b.samples.angular_momentum,
        frame="world",
        dimensions=("xyz",),
        role="momentum",
    ),
    Channel(
        "solver/iterations",
        "1",
        "Iterations of the method, most of any step since the instant before.",
        lambda b, _: b.samples.iterations,
        rtol=0.0,
        atol=2.0,
        dtype="<i8",
        role="solver",
    ),
    Channel(
        "solver/residual",
        "m or rad",
        "Largest error of loops and constraints that the last projection found and left.",
        lambda b, _: b.samples.residual,
        rtol=0.0,
        atol=1e-6,
        role="solver",
    ),
)
