"""Bodies that overlap in the initial state of a scene with contacts: refused, separated, or excluded from contacts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from multibody_cli.alarms.catalogue import OVERLAP
from multibody_cli.alarms.contract import Raised, Remedy
from multibody_cli.contacts.contract import Geometry
from multibody_cli.contacts.detect import touching
from multibody_cli.errors import series
from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import placed_bodies
from multibody_cli.initial.separation import separate_from_world
from multibody_cli.joints.spec import WORLD
from multibody_cli.model import Floats, Model, State
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.tree.markers import bodies_of_rows

TOLERATED = 1e-6
"""Depth relative to the size of the smaller shape that the first step removes."""

REMEDY = (
    "move them apart, or exclude the contact (`contacts.exclude`, `contacts.overlap: exclude`, or `contact: false` of "
    "a shape)"
)

Depths = dict[tuple[int, int], tuple[float, float]]
"""By pair of bodies, the largest depth of their shapes, m, and relative to the smaller shape."""


def without_overlap(loaded: LoadedScene, model: Model, state: State) -> tuple[LoadedScene, tuple[Raised, ...]]:
    """Refuse an initial state with overlapping bodies, or separate or exclude them, according to `contacts.overlap`.

    Parameters
    ----------
    loaded, model, state
        The scene, the compiled model, and its assembled initial state, which is changed where bodies are separated.

    Returns
    -------
    tuple
        The scene whose `contacts.exclude` has all overlapping pairs, and the notes on these, and on those that were
        separated; or the same scene without a note.

    Raises
    ------
    SceneError
        With every overlapping pair of bodies and its depth.
    """
    assert loaded.scene.contacts is not None
    geometry, names, notes = model.system.contacts.geometry, (WORLD, *model.names.bodies), list[Raised]()
    depths = overlap_depths(geometry, model, state)
    if loaded.scene.contacts.overlap == "refuse":
        loaded.refuse(
            (("bodies", names[other]), f"lies {depth:.3g} m deep in `{names[one]}` at the start: {REMEDY}")
            for (one, other), (depth, _) in sorted(depths.items(), key=lambda found: found[0][::-1])
        )
    if loaded.scene.contacts.overlap == "separate" and depths:
        shifts, before = separate_from_world(geometry, model, state), depths
        depths = overlap_depths(geometry, model, state)
        removed = {pair: depth for pair, depth in before.items() if pair not in depths}
        notes += _note_of_shifts(loaded.scene, model, shifts, removed)
    if not depths:
        return loaded, tuple(notes)
    pairs = [(names[one], names[other]) for one, other in depths]
    settings = loaded.scene.contacts.model_copy(update={"exclude": (*loaded.scene.contacts.exclude, *pairs)})
    scene = loaded.scene.model_copy(update={"contacts": settings})
    return replace(loaded, scene=scene), (*notes, *_note(loaded.scene, names, depths))


def _note_of_shifts(scene: SceneSpec, model: Model, shifts: Mapping[int, Floats], removed: Depths) -> Iterator[Raised]:
    largest = max((relative for _, relative in removed.values()), default=0.0)
    allowed = scene.simulation.alarms.get(OVERLAP, TOLERATED)
    if largest > allowed and shifts:
        names = dict(zip(model.names.body_rows.tolist(), model.names.bodies, strict=True))
        words = [f"`{names[row]}` by {_vector(shift)} m" for row, shift in shifts.items()]
        message = f"bodies overlap the world at the start and are moved out of it: {series(words, 'and')}"
        remedy = Remedy(change="correct their initial positions")
        yield Raised(OVERLAP, "note", message, remedy, value=largest, threshold=allowed, at_start=True)


def _vector(x: Floats) -> str:
    return f"[{', '.join(f'{part:.3g}' for part in x)}]"


def _note(scene: SceneSpec, names: Sequence[str], depths: Depths) -> Iterator[Raised]:
    largest = max(relative for _, relative in depths.values())
    allowed = scene.simulation.alarms.get(OVERLAP, TOLERATED)
    if largest > allowed:
        words = [f"`{names[a]}` and `{names[b]}` by {depths[a, b][0]:.3g} m" for a, b in depths]
        message = f"bodies overlap at the start and never touch in this run: {series(words, 'and')}"
        remedy = Remedy(change="move them apart, or list them in `contacts.exclude` if this is meant")
        yield Raised(OVERLAP, "note", message, remedy, value=largest, threshold=allowed, at_start=True)


def overlap_depths(geometry: Geometry, model: Model, state: State) -> Depths:
    """Return the depths of overlapping bodies by their numbers in the scene, from 1 on; 0 is the world."""
    depths: Depths = {}
    places = {0: 0} | {row: place for place, row in enumerate(model.names.body_rows.tolist(), 1)}
    bodies = bodies_of_rows(model.system.tree)
    for contact in touching(geometry, placed_bodies(model, state)):
        size = min(
            geometry.geoms["bounding_radius"][contact["geom_a"]], geometry.geoms["bounding_radius"][contact["geom_b"]]
        )
        a, b = (places[int(bodies[contact[name]])] for name in ("body_a", "body_b"))
        depth, pair = -float(contact["gap"]), (min(a, b), max(a, b))
        if depth > TOLERATED * size:
            depths[pair] = max((depth, depth / size), depths.get(pair, (0.0, 0.0)))
    return depths
