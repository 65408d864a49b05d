"""Dispatch on the kind of a surface."""

from __future__ import annotations

from enum import IntEnum

from multibody_cli.cables import cylinder, ellipsoid, sphere, torus
from multibody_cli.kernel import formula, kernel


class SurfaceCode(IntEnum):
    """Kind of a surface; those whose `approach` is exact come first."""

    SPHERE = 0
    CYLINDER = 1
    ELLIPSOID = 2
    TORUS = 3


SPHERE, CYLINDER, ELLIPSOID, TORUS = map(int, SurfaceCode)


@formula
def is_exact(surface):
    """Whether `approach` is exact between two points."""
    return surface.kind <= CYLINDER


@kernel
def approach(surface, p, q, rank):
    """Write the arc between lines to two points, in the axes of the surface: exact, or an approximation."""
    if surface.kind == SPHERE:
        sphere.approach(surface, p, q)
    elif surface.kind == CYLINDER:
        cylinder.approach(surface, p, q)
    elif surface.kind == ELLIPSOID:
        ellipsoid.approach(surface, p, q, rank)
    elif surface.kind == TORUS:
        torus.approach(surface, p, q)


@formula
def settle(surface, x, t):
    """Write the start of an arc near x with a direction near t."""
    if surface.kind == SPHERE:
        sphere.settle(surface, x, t)
    elif surface.kind == CYLINDER:
        cylinder.settle(surface, x, t)
    elif surface.kind == ELLIPSOID:
        ellipsoid.settle(surface, x, t)
    elif surface.kind == TORUS:
        torus.settle(surface, x, t)


@kernel
def follow(surface):
    """Write the end of the geodesic from the start of an arc, and its Jacobi fields."""
    if surface.kind == SPHERE:
        sphere.follow(surface)
    elif surface.kind == CYLINDER:
        cylinder.follow(surface)
    elif surface.kind == ELLIPSOID:
        ellipsoid.follow(surface)
    elif surface.kind == TORUS:
        torus.follow(surface)
