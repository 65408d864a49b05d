"""Channels of variational methods: discrete invariants and solver diagnostics.

To add a channel, add an entry to `VARIATIONAL_CHANNELS` that reads `methods.contract.VariationalDiagnostics`.
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
        "modified_energy",
        lambda report: report.diagnostics.modified_energy,
        role="energy",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "momentum/discrete_linear",
        "kg m/s",
        "Discrete linear momentum of all bodies in the last step: mass times displacement over the step.",
        "discrete_linear_momentum",
        lambda report: report.diagnostics.momentum[:3],
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
        "discrete_angular_momentum",
        lambda report: report.diagnostics.momentum[3:],
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
        "residual_impulse",
        lambda report: report.diagnostics.residual_impulse,
        rtol=0.0,
        atol=1e-6,
        role="solver",
        element=VARIATIONAL_STEPS,
    ),
    Channel(
        "solver/fallbacks",
        "1",
        "Steps since the last output that needed the fallback solver.",
        "fallbacks",
        lambda report: report.diagnostics.fallbacks,
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
        "step_subdivisions",
        lambda report: report.diagnostics.step_subdivisions,
        rtol=0.0,
        atol=0.0,
        dtype="<i8",
        role="solver",
        element=VARIATIONAL_STEPS,
    ),
)
