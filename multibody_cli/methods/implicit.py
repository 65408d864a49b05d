"""Options of methods that solve for implicit forces iteratively (`implicit.implicit_forces`)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from multibody_cli.methods.stabilization import StabilizationOptions
from multibody_cli.spec import Number
from multibody_cli.tree.workspace import BLOCKS, MASS, ImplicitSolveSettings


class ImplicitOptions(StabilizationOptions):
    """Options of implicit integrators and of the stabilization of constraints."""

    preconditioner: Literal["blocks", "mass"] = Field(
        "blocks",
        description="Preconditioner of the conjugate gradient method for implicit forces. `blocks`: masses, joint "
        "springs, and the diagonal blocks of forces on each body; `mass`: without those blocks.",
    )
    implicit_tolerance: Annotated[Number, Field(gt=0.0)] = Field(
        1e-12, description="Relative tolerance of accelerations with implicit forces, in the mass metric."
    )
    implicit_iterations: Annotated[int, Field(gt=0)] = Field(
        1000, description="Maximum number of iterations for accelerations with implicit forces."
    )

    OF_ITERATION: ClassVar = frozenset({"preconditioner", "implicit_tolerance", "implicit_iterations"})
    _KINDS: ClassVar[dict[str, int]] = {"blocks": BLOCKS, "mass": MASS}

    @property
    def implicit_solve(self) -> ImplicitSolveSettings:
        """The settings of the kernels."""
        return ImplicitSolveSettings(
            self._KINDS[self.preconditioner], float(self.implicit_tolerance), self.implicit_iterations
        )
