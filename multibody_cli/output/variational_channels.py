"""Channels of variational methods: discrete invariants and solver diagnostics.

To add a channel, add an entry to `VARIATIONAL_CHANNELS`, and its data to `methods.contract.VariationalDiagnostics`.
"""

from __future__ import annotations

from multibody_cli.output.channel import Channel

VARIATIONAL_STEPS = "variational"

VARIATIONAL_CHANNELS: tuple[Channel, ...] = (
    Channel(
        "energy/modified",
        "J",
        "Modified energy of the last step. A variational integrator of constant step conserves it without dissipation, "
        "to a higher order in the step than the energy. At the start of a run: the energy.",
        lambda b, _: b.samples.modified_energy,
        role="energy",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "momentum/discrete_linear",
        "kg m/s",
        "Discrete linear momentum of all bodies in the last step: mass times displacement over the step.",
        lambda b, _: b.samples.discrete_momentum[:, :3],
        frame="world",
        dimensions=("xyz",),
        role="momentum",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "momentum/discrete_angular",
        "kg m^2/s",
        "Discrete angular momentum of all bodies about the world origin in the last step, from the discrete "
        "Lagrangian.",
        lambda b, _: b.samples.discrete_momentum[:, 3:],
        frame="world",
        dimensions=("xyz",),
        role="momentum",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "solver/residual_impulse",
        "N s or N m s",
        "Largest residual impulse of the discrete equations of motion of a step since the last output. The next step "
        "compensates for it.",
        lambda b, _: b.samples.residual_impulse,
        rtol=0.0,
        atol=1e-6,
        role="solver",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "solver/fallbacks",
        "1",
        "Steps since the last output that needed the fallback solver.",
        lambda b, _: b.samples.fallbacks,
        rtol=0.0,
        atol=0.0,
        dtype="<i8",
        role="solver",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "solver/step_subdivisions",
        "1",
        "Step subdivisions since the last output: a step is halved when its solver does not converge.",
        lambda b, _: b.samples.step_subdivisions,
        rtol=0.0,
        atol=0.0,
        dtype="<i8",
        role="solver",
        element=VARIATIONAL_STEPS,
    ),
)
