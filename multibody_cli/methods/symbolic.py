"""Method `symbolic`: forward and hybrid dynamics in O(n) by code that is generated for the model.

Source: Si and Guenter, A linear-time algorithm with general joint models (2011). Cost: about 25 ns per hinge on a
machine of 2023, where `aba` takes 75.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.constraint_solver import constrained_bodies
from multibody_cli.methods import symbolic_generated, symbolic_numeric
from multibody_cli.methods.by_acceleration import AccelerationKind, DirectEvaluation, MethodKernels
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.options import ImplicitOptions
from multibody_cli.methods.row_elimination import has_elimination, with_elimination


class SymbolicOptions(ImplicitOptions):
    """Options: the generated code, the stabilization of constraints, and implicit solves."""

    recursion: Literal["generated", "numeric"] = Field(
        "generated",
        description="`generated`: code for the recursion over bodies (Method I); `numeric`: code for the joints only, "
        "with a numeric recursion (Method II).",
    )
    preconditioner: Literal["mass"] = Field(
        "mass",
        description="Preconditioner of the conjugate gradient method for implicit forces: masses and joint springs.",
    )


GENERATED = MethodKernels(
    symbolic_generated.accelerate,
    symbolic_generated.apply_inverse_mass,
    symbolic_generated.workspace,
    direct=DirectEvaluation(
        symbolic_generated.is_gravity_only, symbolic_generated.evaluate, symbolic_generated.update_work
    ),
)
"""Method I."""

NUMERIC = MethodKernels(
    constrained_bodies.accelerate,
    constrained_bodies.apply_inverse_mass,
    symbolic_numeric.workspace,
    direct=DirectEvaluation(symbolic_generated.is_gravity_only, symbolic_numeric.evaluate),
)
"""Method II (`recursion: numeric`)."""

KERNELS = {
    ("generated", False): GENERATED,
    ("generated", True): with_elimination(GENERATED),
    ("numeric", False): NUMERIC,
    ("numeric", True): with_elimination(NUMERIC, own=False),
}
"""By the option `recursion`, and whether rows are eliminated within the recursion of articulated bodies."""

SYMBOLIC = AccelerationKind(
    name="symbolic",
    description="articulated bodies by code generated for the model, O(n)",
    kernels=GENERATED,
    supports=frozenset(Feature),
    Options=SymbolicOptions,
    variant_for=lambda options, system: KERNELS[options.recursion, has_elimination(system)],
)
