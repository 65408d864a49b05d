"""Method `aba`: recursive forward and hybrid dynamics in O(n) by articulated bodies.

Each evaluation computes the kinematics, applies the forces, and eliminates the joints from the leaves to the ground
(`tree.kinematics`, `forces`, `tree.articulated_body`).  Prescribed coordinates keep their given acceleration; the
required force is read from the joint wrench.  Equality rows of closed loops and constraints are eliminated within the
recursion (`constraint_solver.constrained_bodies`); other rows take one more O(n) solve (`constraint_solver.solver`).

Sources: Featherstone 1983; Sueda, notes 2.9; 2.12, Alg. 9 and (2.123); 2.13, Alg. 10.  Cost: about 65 ns per hinge on a
machine of 2023.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from multibody_cli.constraint_solver import constrained_bodies
from multibody_cli.constraint_solver.row_elimination import row_elimination_for
from multibody_cli.methods.by_acceleration import AccelerationKind
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.implicit import ImplicitOptions
from multibody_cli.model import Model
from multibody_cli.tree.articulated_body import accelerate, apply_inverse_mass
from multibody_cli.tree.workspace import Work, workspace_for

ABA: AccelerationKind = AccelerationKind(
    name="aba",
    description="articulated bodies: recursive forward and hybrid dynamics, O(n)",
    accelerate=accelerate,
    apply_inverse_mass=apply_inverse_mass,
    supports=frozenset(Feature) - {Feature.AFFINE},
    Options=ImplicitOptions,
    friction_of_tree=True,
    chosen=lambda _, system: ABA if row_elimination_for(system) is None else CONSTRAINED,
)


def constrained_workspace(model: Model, options: Any) -> Work:
    """Allocate the work arrays, with the elimination of the rows."""
    elimination = row_elimination_for(model.system)
    work = workspace_for(model.system, elimination, primary=True)
    work.rows["active"][elimination.ineffective] = 0
    return work


CONSTRAINED: AccelerationKind = replace(
    ABA,
    accelerate=constrained_bodies.accelerate,
    factor=constrained_bodies.factor,
    apply_inverse_mass=constrained_bodies.apply_inverse_mass,
    workspace=constrained_workspace,
)
"""For systems with rows that are eliminated within the recursion."""
