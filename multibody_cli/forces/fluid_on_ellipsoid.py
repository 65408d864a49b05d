"""Forces of a fluid on an ellipsoid that a body carries: added mass, lift, drag and viscous resistance.

In the axes of the ellipsoid with the semi-axes a, b, c, with the velocity u of its centre relative to the fluid, the
angular velocity w, e = u/|u|, B = diag((bc)^2, (ca)^2, (ab)^2), r = sqrt(e.Be)/|Be| and the area A = pi/r,

    added mass    force p x w, torque p x u + L x w, with p = rho m u and L = rho I w
    Magnus        force c_magnus rho V w x u
    Kutta         force c_kutta rho pi |u|^2 r ((e.Be) e - Be)
    drag          force -rho |u| (c_blunt A + c_slender (A_max - A)) u
                  torque -rho |T w| w, with T = c_angular J + c_slender (J_max - J)
    viscous       force -3 pi eta D u, torque -pi eta D^3 w, with D = 2 (a + b + c)/3

Volumes m and moments I of the added mass are those of potential flow.  It has no terms with accelerations, as in
MuJoCo: the fluid turns a body, and does not make it heavier.  J_x is 8/15 pi a max(b, c)^4, and so on.  A is MuJoCo's
area; along the axes it is the projected one, which is pi sqrt(e.Be) elsewhere.

Relative to the fluid, added mass and lift have no power: (p x w).u + (p x u).w = 0, and both lifts are normal to u.
The loss is minus the power of all forces on the body, so that the wind does work, also by them.

The damping of implicit integrators is that of drag and viscous resistance, exact along u and w:

    -dF/du = k + d (1 + e e^T),    F = -(k + d) u without lift and added mass,

and likewise for the torque.  Lift, added mass and the change of A with the direction of u are left out.

Sources: MuJoCo, Computation, Passive forces, the ellipsoidal model; Lamb, Hydrodynamics, articles 114 and 115.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from multibody_cli.forces.contract import SceneEntry
from multibody_cli.forces.fluid import FluidProperties, element_in_flow
from multibody_cli.kernel import Floats, formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot, isotropic, scaled, symmetric_outer
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import BodyPosition, Position, Quantity, Rotation, Spec, Vector, Vector3, units
from multibody_cli.spec.entries import BodyForceSpec, PackingContext
from multibody_cli.spec.rotations import IDENTITY, rotation_matrix

Coefficient = Annotated[float, Quantity(units.NUMBER, least=0.0)]


class DragCoefficients(Spec):
    """Coefficients of the drag on an ellipsoid in a fast flow."""

    blunt: Coefficient = Field(0.5, description="Coefficient of the area that faces the flow.")
    slender: Coefficient = Field(0.25, description="Coefficient of the rest of the largest projected area.")
    angular: Coefficient = Field(1.5, description="Coefficient of drag on turning.")


class LiftCoefficients(Spec):
    """Coefficients of the forces normal to the flow."""

    kutta: Annotated[float, Quantity(units.NUMBER)] = Field(1.0, description="Coefficient of the lift of a wing.")
    magnus: Annotated[float, Quantity(units.NUMBER)] = Field(1.0, description="Coefficient of the lift by spin.")


class FluidOnEllipsoidSpec(BodyForceSpec):
    """Forces of a fluid on an ellipsoid that a body carries: added mass, lift, drag and viscous resistance."""

    body: str = Field(description="Body on which the fluid acts.")
    fluid: FluidProperties = Field(description="Properties of the fluid.")
    ellipsoid: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(
        description="Semi-axes [x, y, z] of the ellipsoid, m."
    )
    point: BodyPosition | None = Field(
        None,
        description="Centre of the ellipsoid, in the body frame, m, or its name. Default: the centre of mass.",
    )
    rotation: Rotation = Field(IDENTITY, description="Orientation of the ellipsoid in the body frame.")
    drag: DragCoefficients = Field(DragCoefficients(), description="Coefficients of the drag.")
    lift: LiftCoefficients = Field(LiftCoefficients(), description="Coefficients of the lift.")

    @property
    def points(self) -> list[tuple[NodePath, Position]]:
        """The centre, where it is given."""
        return [(("point",), self.point)] if self.point is not None else []

    @property
    def turning(self) -> list[NodePath]:
        """The ellipsoid."""
        return [("ellipsoid",)]


FLUID_ON_ELLIPSOID = np.dtype(
    [
        ("row", "i8"),
        ("centre", "f8", 3),  # in the joint frame
        ("axes", "f8", 9),  # the ellipsoid in the joint frame
        ("squares", "f8", 3),  # B
        ("masses", "f8", 3),  # rho m
        ("moments", "f8", 3),  # rho I
        ("magnus", "f8"),  # factor of w x u
        ("kutta", "f8"),  # factor of |u|^2 r ((e.Be) e - Be)
        ("viscous", "f8", 2),  # coefficients of the velocity and of the angular velocity
        ("frontal", "f8"),  # factor of |u| u/r
        ("sides", "f8"),  # factor of |u| u
        ("turns", "f8", 3),  # rho T
        ("wind_W", "f8", 3),
        ("account", "i8"),
    ]
)


@formula
def flow_along(item, u):
    """Speed, direction e, Be, e.Be and r; any direction at rest, where nothing depends on it."""
    speed = math.sqrt(dot(u, u))
    e = (1.0 / speed) * u if speed > 0.0 else Vec3(1.0, 0.0, 0.0)
    normal = scaled(load(item.squares), e)
    facing = dot(e, normal)
    return speed, e, normal, facing, math.sqrt(facing / dot(normal, normal))


@formula
def drag_factor(item, speed, r):
    """Factor of -u in the drag, kg/s."""
    return speed * (item.frontal / r + item.sides)


@formula
def turning_factor(item, w):
    """Factor of -w in the torque of the drag, N m s."""
    rates = scaled(load(item.turns), w)
    return math.sqrt(dot(rates, rates))


@formula
def wrench_along(item, u, w):
    """Force at the centre and torque, in the axes of the ellipsoid."""
    speed, e, normal, facing, r = flow_along(item, u)
    p, L = scaled(load(item.masses), u), scaled(load(item.moments), w)
    lift = (item.kutta * speed * speed * r) * (facing * e - normal) + item.magnus * cross(w, u)
    force = cross(p, w) + lift - (item.viscous[0] + drag_factor(item, speed, r)) * u
    torque = cross(p, u) + cross(L, w) - (item.viscous[1] + turning_factor(item, w)) * w
    return force, torque


@formula
def wrench_change_along(item, u, w, du, dw):
    """Change of `wrench_along` with the rates."""
    speed, e, normal, facing, r = flow_along(item, u)
    squares, masses, moments = load(item.squares), load(item.masses), load(item.moments)
    d_speed = dot(e, du)
    g = du - d_speed * e  # |u| de
    bent = scaled(squares, g)
    d_facing = 2.0 * dot(normal, g)
    d_r = 0.5 * r * (d_facing / facing - 2.0 * dot(normal, bent) / dot(normal, normal))  # |u| dr
    lift = (2.0 * d_speed * r + d_r) * (facing * e - normal) + r * (d_facing * e + facing * g - bent)
    d_drag = d_speed * (item.frontal / r + item.sides) - item.frontal / (r * r) * d_r
    p, dp = scaled(masses, u), scaled(masses, du)
    L, dL = scaled(moments, w), scaled(moments, dw)
    force = cross(dp, w) + cross(p, dw) + (item.kutta * speed) * lift
    force = force + item.magnus * (cross(dw, u) + cross(w, du))
    force = force - (item.viscous[0] + drag_factor(item, speed, r)) * du - d_drag * u
    turns, factor = load(item.turns), turning_factor(item, w)
    d_factor = dot(scaled(turns, w), scaled(turns, dw)) / factor if factor > 0.0 else 0.0
    torque = cross(dp, u) + cross(p, du) + cross(dL, w) + cross(L, dw)
    return force, torque - (item.viscous[1] + factor) * dw - d_factor * w


@formula
def damping_along(constant, factor, u):
    """c + d (1 + e e^T) with e = u/|u|: minus the derivative of -(c + d) u where d is in proportion to |u|."""
    square = dot(u, u)
    if square == 0.0:
        return isotropic(constant)
    return isotropic(constant + factor) + (factor / square) * symmetric_outer(u, u)


@formula
def dampings_along(item, u, w):
    """The damping matrices of implicit integrators, of velocity and angular velocity."""
    speed, _, _, _, r = flow_along(item, u)
    N = damping_along(item.viscous[0], drag_factor(item, speed, r), u)
    return N, damping_along(item.viscous[1], turning_factor(item, w), w)


def added_mass(semiaxes: Vector) -> tuple[Floats, Floats]:
    """Return volumes (3,), m^3, and moments (3,), m^5, of the added mass of an ellipsoid in a fluid of density 1.

    Parameters
    ----------
    semiaxes
        Semi-axes, m.

    Notes
    -----
    With Carlson's integral, k_x = 2/3 abc R_D(b^2, c^2, a^2) and so on, of which the sum is 2.  Source: Lamb,
    Hydrodynamics, articles 114 and 115.
    """
    from scipy.special import elliprd  # on demand: it takes 20 ms

    squares = np.square(semiaxes)
    product = float(np.prod(semiaxes))
    volume = 4.0 / 3.0 * math.pi * product
    k = np.array([2.0 / 3.0 * product * elliprd(*np.roll(squares, -i - 1)) for i in range(3)])
    masses = volume * k / np.array([k[1] + k[2], k[2] + k[0], k[0] + k[1]])
    moments = np.zeros(3)
    for i in range(3):
        (b, c), (kb, kc) = np.roll(squares, -i - 1)[:2], np.roll(k, -i - 1)[:2]
        if b != c:
            moments[i] = volume / 5.0 * (b - c) ** 2 * (kc - kb) / (2.0 * (b - c) + (b + c) * (kb - kc))
    return masses, moments


def pack(spec: FluidOnEllipsoidSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a fluid on an ellipsoid."""
    centre = context.com(spec.body) if spec.point is None else context.point(spec.body, spec.point)
    axes = context.axes(spec.body) @ rotation_matrix(spec.rotation)
    density, drag, lift = spec.fluid.density, spec.drag, spec.lift
    a, b, c = spec.ellipsoid
    _, middle, largest = sorted(spec.ellipsoid)
    masses, moments = added_mass(spec.ellipsoid)
    J = 8.0 / 15.0 * math.pi * np.array([a * max(b, c) ** 4, b * max(c, a) ** 4, c * max(a, b) ** 4])
    J_max = 8.0 / 15.0 * math.pi * middle * largest**4
    diameter = 2.0 / 3.0 * (a + b + c)
    return (
        context.row(spec.body),
        centre,
        axes.T.ravel(),
        [(b * c) ** 2, (c * a) ** 2, (a * b) ** 2],
        density * masses,
        density * moments,
        lift.magnus * density * 4.0 / 3.0 * math.pi * a * b * c,
        lift.kutta * density * math.pi,
        math.pi * spec.fluid.viscosity * diameter * np.array([3.0, diameter**2]),
        density * math.pi * (drag.blunt - drag.slender),
        density * math.pi * drag.slender * middle * largest,
        density * (drag.angular * J + drag.slender * (J_max - J)),
        spec.fluid.wind,
    )


ELEMENT = element_in_flow(
    "fluids_on_ellipsoids",
    FLUID_ON_ELLIPSOID,
    SceneEntry("forces", "fluid_on_ellipsoid", ("ellipsoid",), FluidOnEllipsoidSpec, pack),
    wrench_along=wrench_along,
    wrench_change_along=wrench_change_along,
    dampings_along=dampings_along,
)
