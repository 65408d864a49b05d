"""The channels of methods that step variationally: what such a step keeps, and how it was found.

To add one, add an entry to `VARIATIONAL_CHANNELS`, and what it shows to `methods.contract.Diagnosis`.
"""

from __future__ import annotations

from multibody_cli.output.channel import Channel

STRIDES = "strides"

VARIATIONAL_CHANNELS: tuple[Channel, ...] = (
    Channel(
        "energy/modified",
        "J",
        "Of the step that ends here: the modified energy, which a variational integrator of constant step keeps where "
        "nothing dissipates, up to an error of higher order in the step than that of the energy. At the start of a run "
        "the energy itself.",
        lambda b, _: b.samples.modified_energy,
        role="energy",
        element=STRIDES,
    ),
    Channel(
        "momentum/discrete_linear",
        "kg m/s",
        "Of the step that ends here: linear momentum of all bodies, masses times displacements over the step.",
        lambda b, _: b.samples.discrete_momentum[:, :3],
        frame="world",
        dimensions=("xyz",),
        role="momentum",
        element=STRIDES,
    ),
    Channel(
        "momentum/discrete_angular",
        "kg m^2/s",
        "Of the step that ends here: angular momentum of all bodies about the world origin, as the discrete "
        "Lagrangian has it.",
        lambda b, _: b.samples.discrete_momentum[:, 3:],
        frame="world",
        dimensions=("xyz",),
        role="momentum",
        element=STRIDES,
    ),
    Channel(
        "solver/imbalance",
        "N s or N m s",
        "Largest residual impulse of the discrete equations of motion that a step since the instant before was left "
        "with; the next step makes up for it.",
        lambda b, _: b.samples.imbalance,
        rtol=0.0,
        atol=1e-6,
        role="solver",
        element=STRIDES,
    ),
    Channel(
        "solver/fallbacks",
        "1",
        "Steps since the instant before that another root finder had to find.",
        lambda b, _: b.samples.fallbacks,
        rtol=0.0,
        atol=0.0,
        dtype="<i8",
        role="solver",
        element=STRIDES,
    ),
    Channel(
        "solver/halvings",
        "1",
        "How often since the instant before a step was cut in halves because its end was not found.",
        lambda b, _: b.samples.halvings,
        rtol=0.0,
        atol=0.0,
        dtype="<i8",
        role="solver",
        element=STRIDES,
    ),
)
