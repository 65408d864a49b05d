"""World poses of geoms."""

from __future__ import annotations

from typing import Any, NamedTuple

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store


class Shape(NamedTuple):
    """A geom in the world, as a value: origin, orientation and size."""

    x: Any
    R: Any
    size: Any


@kernel
def place_geoms(geoms, bodies, placed):
    """Compute the world frame of every geom from the poses of the bodies."""
    for i in range(len(geoms)):
        geom = geoms[i]
        body = bodies[geom.body]
        R = load(body.R)
        store(placed[i].x, load(body.x) + R @ load(geom.x))
        store(placed[i].R, R @ load(geom.R))


@formula
def shape_of(geom, placed):
    """Return the shape of a geom with its world frame."""
    return Shape(load(placed.x), load(placed.R), load(geom.extent))
