"""Stiffness and damping of force elements: K = dF/dx and D = dF/dv, as products with a motion change.

A motion change is a twist (dw, dv) of each body, world axes, about the origin of its joint frame, in the fields `dw`
and `dv` of the bodies.  The kernel `stiffness_damping_product` of an element adds to the wrenches

    dF = K (displacement_factor * change) + D (velocity_factor * change),

with factors that are times, s, or plain numbers: the change is a displacement and a change of velocity at once.  Before
products and blocks, the kernel `linearize` keeps the parts that depend on positions and velocities alone.

Where `exact`, K and D are the derivatives.  They determine the stiffness of a system, and the stable step of explicit
integrators.  Otherwise -K and -D are a symmetric, positive semidefinite approximation, with which implicit integrators
solve: tensions below 0 count as 0, levers of moments are constant, and rates do not depend on the directions of lines.
The omitted part is bounded where the stiffness grows.

The diagonal block of a body is minus the derivative of its own wrench by its own displacement, in the form of an
inertia; for a cable, the sum over its points, each as if the other points were fixed.

Source: Sueda, notes 1.9, (1.30)-(1.37), (1.50)-(1.56), (1.61)-(1.68), with corrected signs; 2.5, (2.77)-(2.79).
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, isotropic, shift_inertia
from multibody_cli.spatial.values import Force, Inertia, Mat3


@formula
def add_wrench(wrench, moment, force):
    """Add a wrench to a record."""
    store_force(wrench, load_force(wrench) + Force(moment, force))


@formula
def block_at(N, r):
    """The 6 x 6 block about the origin of a symmetric stiffness N (3, 3) of the point at the lever r."""
    return shift_inertia(Inertia(isotropic(0.0), Mat3(ZERO, ZERO, ZERO), N), r)


@formula
def add_block(block, B):
    """Add B to the block of a body."""
    store(block.J, load(block.J) + B.J)
    store(block.H, load(block.H) + B.H)
    store(block.M, load(block.M) + B.M)
