"""How implicit forces are solved for: options of the methods that do it by iteration (`implicit.implicit_forces`)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from multibody_cli.methods.stabilization import StabilizationOptions
from multibody_cli.spec import Number
from multibody_cli.tree.workspace import BLOCKS, MASS, ForesightSettings


class ImplicitOptions(StabilizationOptions):
    """What an implicit integrator takes of springs, dampers and muscles, and how closed loops are kept."""

    preconditioner: Literal["blocks", "mass"] = Field(
        "blocks",
        description="Of the conjugate gradients for implicit forces. `blocks`: the masses, the springs of joints, and "
        "what forces make of each body alone; `mass`: without the latter.",
    )
    implicit_tolerance: Annotated[Number, Field(gt=0.0)] = Field(
        1e-12, description="Error of accelerations with implicit forces, relative, in the metric of the masses."
    )
    implicit_iterations: Annotated[int, Field(gt=0)] = Field(
        1000, description="Iterations for accelerations with implicit forces, at most."
    )

    OF_ITERATION: ClassVar = frozenset({"preconditioner", "implicit_tolerance", "implicit_iterations"})
    _KINDS: ClassVar[dict[str, int]] = {"blocks": BLOCKS, "mass": MASS}

    @property
    def foresight(self) -> ForesightSettings:
        """The same for kernels."""
        return ForesightSettings(
            self._KINDS[self.preconditioner], float(self.implicit_tolerance), self.implicit_iterations
        )
