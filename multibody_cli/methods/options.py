"""Options of methods that compute accelerations: stabilization of constraints, and iterations for implicit forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.model import Account
from multibody_cli.spec import Number, Spec
from multibody_cli.tree.workspace import BLOCKS, MASS, ImplicitSolveSettings, Work

STABILIZATION = Account("work", "stabilization")
"""The entry of the energy ledger for equalities whose errors the velocities of Euler steps correct."""


class StabilizationOptions(Spec):
    """How errors of closed loops and constraints are corrected."""

    stabilization: Literal["projection", "baumgarte", "baumgarte_velocity"] = Field(
        "projection",
        description="`projection`: after each step, positions and velocities are projected onto the constraints, in "
        "the mass metric. `baumgarte`: feedback in the accelerations makes errors decay. `baumgarte_velocity`: each "
        "Euler step ends with velocities that make errors decay, by J v = -rate error (Sueda (1.82)), also of limits.",
    )
    baumgarte_rate: Annotated[Number, Field(gt=0.0)] = Field(
        50.0, description="Decay rate of errors with `baumgarte` or `baumgarte_velocity`, 1/s."
    )

    @property
    def implicit_solve(self) -> ImplicitSolveSettings:
        """The settings of implicit solves."""
        return ImplicitSolveSettings()

    @model_validator(mode="after")
    def _refuse_entries_without_effect(self) -> Self:
        if "baumgarte_rate" in self.model_fields_set and self.stabilization == "projection":
            raise ValueError("`baumgarte_rate` has no effect without `stabilization: baumgarte`")
        return self


def ends_at_corrected_velocities(options: Mapping[str, Any]) -> bool:
    """Whether the options of a scene correct errors by the velocities at the end of a step."""
    return options.get("stabilization") == "baumgarte_velocity"


def has_symmetrized_stiffness(options: Mapping[str, Any]) -> bool:
    """Whether the options of a scene take the symmetric part of the stiffness of springs between bodies."""
    return options.get("implicit_stiffness") == "symmetrized"


class ImplicitOptions(StabilizationOptions):
    """Options of methods that solve for implicit forces by iteration (`implicit.implicit_forces`)."""

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


def set_stabilization(options: StabilizationOptions, work: Work, step: float) -> None:
    """Set the coefficients of feedback, given the step, s; all are 0 for projection.

    `baumgarte`: error'' + 2 rate error' + rate^2 error = 0; `baumgarte_velocity`: J (v + step dv/dt) = -rate error.
    """
    rate = options.baumgarte_rate
    kinds = {
        "projection": (0.0, 0.0, 0.0),
        "baumgarte": (2.0 * rate, rate * rate, 0.0),
        "baumgarte_velocity": (1.0 / step, rate / step, -1.0),
    }
    work.feedback[:] = kinds[options.stabilization]
