"""What small changes of the motion make of the forces: K = dF/dx and D = dF/dv, as products with a change.

A change is a twist (dw, dv) of each body, world axes, about the origin of its joint frame, as it stands in the fields
`dw` and `dv` of the placed bodies.  Every force element `vary`s: it adds to the wrenches

    dF = K (along * change) + D (faster * change),

with `along` a time by which the change displaces, s, or a plain factor, and `faster` one by which it speeds up.

Exact, that is the derivative: it tells how stiff a system is, and which step an explicit integrator can take.
Otherwise it is its symmetric part that never feeds energy in, and that implicit integrators solve with: tensions below
0 count as 0, moments keep their levers, and rates do not turn with the lines.  What is left out is first order of what
is kept, and bounded, where what is kept grows with the stiffness.

The *block* of a body is minus the change of its own wrench by its own displacement, an inertia that it seems to have;
of a cable, each of its points for itself.

Source: Sueda, notes 1.9, (1.30)-(1.37), (1.50)-(1.56), (1.61)-(1.68), with corrected signs; 2.5, (2.77)-(2.79).
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, cross, isotropic, shift_inertia
from multibody_cli.spatial.values import Force, Inertia, Mat3


@formula
def displacement_of(body, r):
    """How the point at the lever r moves."""
    return load(body.dv) + cross(load(body.dw), r)


@formula
def add_wrench(wrench, moment, force):
    """Add a wrench to those that lie in a record."""
    store_force(wrench, load_force(wrench) + Force(moment, force))


@formula
def block_at(N, r):
    """The symmetric 3 x 3 stiffness N of a point at the lever r, seen from the origin."""
    return shift_inertia(Inertia(isotropic(0.0), Mat3(ZERO, ZERO, ZERO), N), r)


@formula
def add_block(block, B):
    """Add to the block of a body."""
    store(block.J, load(block.J) + B.J)
    store(block.H, load(block.H) + B.H)
    store(block.M, load(block.M) + B.M)
