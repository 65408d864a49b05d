"""Forces of a fluid on a body, from a box of equal inertia: viscous resistance, and drag on each face.

With the edges a, b, c of the box, its axes e_i, the velocity u of the centre of mass relative to the fluid and the
angular velocity w in these axes, and d = (a + b + c)/3,

    force_x    -3 pi eta d u_x - rho/2 b c |u_x| u_x
    torque_x   -pi eta d^3 w_x - rho/64 a (b^4 + c^4) |w_x| w_x

and so on for y and z.  The viscous part is Stokes' law for a sphere of the diameter d; the other one is the drag of
plates with a coefficient of 1, which a fast flow exerts.  The fluid has no inertia and no buoyancy.

All coefficients of du and dw are nonnegative: -dF/dv is symmetric and positive semidefinite, and no part of it is left
out for implicit integrators.  The loss is minus the power of the forces on the body; the wind does work on it.

Source: MuJoCo, Computation, Passive forces, the inertia model.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_block, add_wrench, block_at
from multibody_cli.kernel import bound_kernel, formula, kernel_parameter, template
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import (
    ZERO,
    cross,
    dot,
    isotropic,
    rotated,
    transposed_times,
)
from multibody_cli.spatial.values import Inertia, Mat3, Sym3, Vec3
from multibody_cli.spec import Quantity, Rotation, Spec, Vector, Vector3, units
from multibody_cli.spec.entries import BodyForceSpec, PackingContext
from multibody_cli.spec.rotations import IDENTITY, rotation_matrix


class FluidProperties(Spec):
    """Properties of a fluid, which is at rest or moves at a constant velocity."""

    density: Annotated[float, Quantity(units.DENSITY, least=0.0)] = Field(0.0, description="Density, kg/m^3.")
    viscosity: Annotated[float, Quantity(units.VISCOSITY, least=0.0)] = Field(
        0.0, description="Dynamic viscosity, Pa*s."
    )
    wind: Annotated[Vector, Vector3(units.SPEED)] = Field(
        (0.0, 0.0, 0.0), description="Velocity of the fluid, world axes, m/s."
    )

    @model_validator(mode="after")
    def _require_an_effect(self) -> Self:
        if self.model_fields_set.isdisjoint(("density", "viscosity")):
            raise ValueError("has no effect without `density` and `viscosity`: give one of them, or both")
        return self


class FluidSpec(BodyForceSpec):
    """Forces of a fluid on a body, from a box about its centre of mass."""

    body: str = Field(description="Body on which the fluid acts.")
    fluid: FluidProperties = Field(description="Properties of the fluid.")
    box: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(
        description="Edges [x, y, z] of a box about the centre of mass that resists as the body does, m."
    )
    rotation: Rotation = Field(IDENTITY, description="Orientation of the box in the body frame.")

    @property
    def turning(self) -> list[NodePath]:
        """The box."""
        return [("box",)]


FLUID = np.dtype(
    [
        ("row", "i8"),
        ("centre", "f8", 3),  # of mass, in the joint frame
        ("axes", "f8", 9),  # the box in the joint frame
        ("viscous", "f8", 2),  # coefficients of the velocity and of the angular velocity
        ("faces", "f8", 3),  # coefficients of the squares of the velocity along the axes of the box
        ("turns", "f8", 3),  # and of the angular velocity about them
        ("wind_W", "f8", 3),
        ("account", "i8"),
    ]
)


# --- any shape in a flow ----------------------------------------------------------------------------------------------
@kernel_parameter
def wrench_along(item, u, w) -> Any:
    """Return the force at the centre and the torque for the rates u and w, in the axes of the shape."""


@kernel_parameter
def wrench_change_along(item, u, w, du, dw) -> Any:
    """Return the change of `wrench_along` with the rates."""


@kernel_parameter
def dampings_along(item, u, w) -> Any:
    """Return the damping matrices of implicit integrators, of velocity and angular velocity."""


@formula
def flow_past(item, body):
    """Axes of the shape; and in these its lever, its velocity relative to the fluid, and its angular velocity."""
    R, w = load(body.R), load(body.w)
    axes, c = R @ load(item.axes), R @ load(item.centre)
    u = load(body.v) + cross(w, c) - load(item.wind_W)
    return axes, transposed_times(axes, c), transposed_times(axes, u), transposed_times(axes, w)


@template(wrench_along)
def apply_force(item, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the wrench to the body, and add the loss to the account."""
    body = bodies[item.row]
    axes, c, u, w = flow_past(item, body)
    force, torque = wrench_along(item, u, w)
    apply_wrench(body, axes @ (torque + cross(c, force)), axes @ force)
    powers[item.account] -= dot(force, u + transposed_times(axes, load(item.wind_W))) + dot(torque, w)


@template(wrench_along, wrench_change_along, dampings_along)
def stiffness_damping_product(item, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`.

    K comes from the rotation of the shape: its lever changes by dw x c, and the rates in its axes by -dw x u, -dw x w.
    """
    body = bodies[item.row]
    axes, c, u, w = flow_past(item, body)
    turn = transposed_times(axes, load(body.dw))
    du, dw = velocity_factor * (transposed_times(axes, load(body.dv)) + cross(turn, c)), velocity_factor * turn
    if exact:
        turn = displacement_factor * turn
        moved = cross(turn, c)
        force, torque = wrench_along(item, u, w)
        df, dt = wrench_change_along(item, u, w, du + cross(w, moved) - cross(turn, u), dw - cross(turn, w))
        df, dt = cross(turn, force) + df, cross(turn, torque) + dt + cross(moved, force)
    else:
        N, N_turn = dampings_along(item, u, w)
        df, dt = -(N @ du), -(N_turn @ dw)
    add_wrench(wrenches[item.row], axes @ (dt + cross(c, df)), axes @ df)


@template(dampings_along)
def add_stiffness_blocks(item, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the damping to the block of the body: see `forces.variation`."""
    axes, c, u, w = flow_past(item, bodies[item.row])
    N, N_turn = dampings_along(item, u, w)
    turning = Inertia(rotated(axes, velocity_factor * N_turn), Mat3(ZERO, ZERO, ZERO), isotropic(0.0))
    add_block(blocks[item.row], block_at(rotated(axes, velocity_factor * N), axes @ c) + turning)


def element_in_flow(table: str, dtype: np.dtype[Any], entry: SceneEntry, **laws: Any) -> ForceElement:
    """Return the entry of a force in a flow, for the three `laws` of its wrench."""
    return ForceElement(
        table,
        dtype,
        description="forces on bodies",
        account="dissipation",
        implicit=True,
        bodies=("row",),
        apply_force=bound_kernel(apply_force, wrench_along=laws["wrench_along"]),
        stiffness_damping_product=bound_kernel(stiffness_damping_product, **laws),
        add_stiffness_blocks=bound_kernel(add_stiffness_blocks, dampings_along=laws["dampings_along"]),
        entry=entry,
    )


# --- a box ------------------------------------------------------------------------------------------------------------
@formula
def resistance(viscous, quadratic, u):
    """Force against the rates u in the axes of the box."""
    return Vec3(
        -(viscous + quadratic.x * abs(u.x)) * u.x,
        -(viscous + quadratic.y * abs(u.y)) * u.y,
        -(viscous + quadratic.z * abs(u.z)) * u.z,
    )


@formula
def slopes(viscous, quadratic, u):
    """Minus the derivatives of `resistance`, a diagonal matrix."""
    return Sym3(
        viscous + 2.0 * quadratic.x * abs(u.x), 0.0, 0.0,
        viscous + 2.0 * quadratic.y * abs(u.y), 0.0,
        viscous + 2.0 * quadratic.z * abs(u.z),
    )  # fmt: skip


@formula
def wrench_on_box(item, u, w):
    """`wrench_along` of a box."""
    return resistance(item.viscous[0], load(item.faces), u), resistance(item.viscous[1], load(item.turns), w)


@formula
def wrench_change_on_box(item, u, w, du, dw):
    """`wrench_change_along` of a box: its dampings are exact."""
    N, N_turn = dampings_of_box(item, u, w)
    return -(N @ du), -(N_turn @ dw)


@formula
def dampings_of_box(item, u, w):
    """`dampings_along` of a box."""
    return slopes(item.viscous[0], load(item.faces), u), slopes(item.viscous[1], load(item.turns), w)


def pack(spec: FluidSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a fluid."""
    axes = context.axes(spec.body) @ rotation_matrix(spec.rotation)
    fluid, (a, b, c) = spec.fluid, spec.box
    diameter = (a + b + c) / 3.0
    viscous = math.pi * fluid.viscosity * diameter * np.array([3.0, diameter**2])
    faces = fluid.density / 2.0 * np.array([b * c, c * a, a * b])
    turns = fluid.density / 64.0 * np.array([a * (b**4 + c**4), b * (c**4 + a**4), c * (a**4 + b**4)])
    return context.row(spec.body), context.com(spec.body), axes.T.ravel(), viscous, faces, turns, fluid.wind


ELEMENT = element_in_flow(
    "fluids",
    FLUID,
    SceneEntry("forces", "fluid", ("fluid",), FluidSpec, pack),
    wrench_along=wrench_on_box,
    wrench_change_along=wrench_change_on_box,
    dampings_along=dampings_of_box,
)
