"""Method `aba`: recursive forward and hybrid dynamics in O(n) by articulated bodies.

Each evaluation computes the kinematics, applies the forces, and eliminates the joints from the leaves to the ground
(`tree.kinematics`, `forces`, `constraint_solver.constrained_bodies`).  Prescribed coordinates keep their given
acceleration; the required force is read from the joint wrench.  Equality rows of closed loops and constraints are
eliminated within the recursion; other rows take one more O(n) solve (`constraint_solver.solver`).

Sources: Featherstone 1983; Sueda, notes 2.9; 2.12, Alg. 9 and (2.123); 2.13, Alg. 10.  Cost: about 65 ns per hinge on a
machine of 2023.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.constrained_bodies import accelerate, apply_inverse_mass
from multibody_cli.methods.by_acceleration import AccelerationKind, MethodKernels
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.options import ImplicitOptions
from multibody_cli.methods.row_elimination import has_elimination, with_elimination

KERNELS = MethodKernels(accelerate, apply_inverse_mass)
CONSTRAINED = with_elimination(KERNELS, own=False)
"""For systems with rows that are eliminated within the recursion."""

ABA = AccelerationKind(
    name="aba",
    description="articulated bodies: recursive forward and hybrid dynamics, O(n)",
    kernels=KERNELS,
    supports=frozenset(Feature),
    Options=ImplicitOptions,
    variant_for=lambda _, system: CONSTRAINED if has_elimination(system, own=False) else KERNELS,
)
