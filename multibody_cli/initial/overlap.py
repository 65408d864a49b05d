"""Check that no bodies overlap in the initial state of a scene with contacts."""

from __future__ import annotations

from multibody_cli.contacts.contract import Geometry, Records
from multibody_cli.contacts.detect import detect
from multibody_cli.contacts.work import detection_workspace_for, grown
from multibody_cli.initial.initial_state import placed_bodies
from multibody_cli.joints.spec import WORLD
from multibody_cli.model import Model, State
from multibody_cli.scene.load import LoadedScene

TOLERATED = 1e-6
"""Depth relative to the size of the smaller shape that the first step removes."""


def require_no_overlap(loaded: LoadedScene, model: Model, state: State) -> None:
    """Refuse an initial state with overlapping bodies.

    Parameters
    ----------
    loaded, model, state
        The scene, the compiled model, and its assembled initial state.

    Raises
    ------
    SceneError
        With every overlapping pair of bodies and its depth.
    """
    names = (WORLD, *model.names.bodies)
    depths = overlap_depths(model.system.contacts.geometry, model, state)
    remedy = "move them apart, or exclude the contact (`contacts.exclude`, or `contact: false` of a shape)"
    loaded.refuse(
        (("bodies", names[other]), f"lies {depth:.3g} m deep in `{names[one]}` at the start: {remedy}")
        for (one, other), depth in sorted(depths.items(), key=lambda found: found[0][::-1])
    )


def overlap_depths(geometry: Geometry, model: Model, state: State) -> dict[tuple[int, int], float]:
    """Return the depth of overlapping bodies, m, by their numbers in the scene, from 1 on; 0 is the world."""
    depths = dict[tuple[int, int], float]()
    places = {0: 0} | {row: place for place, row in enumerate(model.names.body_rows.tolist(), 1)}
    for contact in touching(geometry, placed_bodies(model, state)):
        size = min(
            geometry.geoms["bounding_radius"][contact["geom_a"]], geometry.geoms["bounding_radius"][contact["geom_b"]]
        )
        a, b = places[int(contact["body_a"])], places[int(contact["body_b"])]
        depth, pair = -float(contact["gap"]), (min(a, b), max(a, b))
        if depth > TOLERATED * size:
            depths[pair] = max(depth, depths.get(pair, 0.0))
    return depths


def touching(geometry: Geometry, bodies: Records) -> Records:
    """Return all contacts without a gap of bodies with poses in the fields x and R."""
    work = detection_workspace_for(geometry)
    while True:
        count, overflow = detect(geometry, bodies, 0.0, work)
        if not overflow:
            return work.contacts[:count]
        work = grown(geometry, work, count, overflow)
