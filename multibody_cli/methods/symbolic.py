"""Method `symbolic`: forward and hybrid dynamics in O(n) by code that is written for the one model.

Sources: Si and Guenter, A linear-time algorithm with general joint models (2011).
Cost: about 25 ns a hinge on a machine of 2023, where `aba` takes 75.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from multibody_cli.methods import symbolic_generated, symbolic_numeric
from multibody_cli.methods.by_acceleration import AccelerationKind, Shortcut
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.implicit import ImplicitOptions


class SymbolicOptions(ImplicitOptions):
    """What is generated, how closed loops are kept, and how implicit forces are solved for."""

    recursion: Literal["generated", "numeric"] = Field(
        "generated",
        description="Whether the recursion over bodies is generated too (Method I), or done with numbers from"
        " generated joints (Method II).",
    )
    preconditioner: Literal["mass"] = Field(
        "mass", description="Of the conjugate gradients for implicit forces: the masses and the springs of joints."
    )


SYMBOLIC: AccelerationKind = AccelerationKind(
    name="symbolic",
    description="articulated bodies by code that is generated for the model, O(n)",
    accelerate=symbolic_generated.accelerate,
    respond=symbolic_generated.respond,
    supports=frozenset(Feature) - {Feature.AFFINE},
    Options=SymbolicOptions,
    workspace=symbolic_generated.workspace,
    shortcut=Shortcut(symbolic_generated.is_left_alone, symbolic_generated.evaluate, symbolic_generated.settle),
    chosen=lambda options: NUMERIC if options.recursion == "numeric" else SYMBOLIC,
)

NUMERIC: AccelerationKind = replace(
    SYMBOLIC,
    name="symbolic_numeric",
    accelerate=symbolic_numeric.accelerate,
    respond=symbolic_numeric.respond,
    workspace=symbolic_numeric.workspace,
    shortcut=Shortcut(symbolic_generated.is_left_alone, symbolic_numeric.evaluate, symbolic_generated.settle),
)
"""Method II, an option."""
