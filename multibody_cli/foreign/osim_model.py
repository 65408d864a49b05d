"""Components of a model of OpenSim: their properties, paths and frames.

A component has a path, such as `/jointset/knee_r/femur_offset`.  Its sockets name other components by their paths, from
the model or from the component.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any, NamedTuple

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD, Draft, Shape
from multibody_cli.foreign.frames import IDENTITY, FramePose
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.kernel import Floats

BODIES = ("Body", "Ground")
OFFSET = "PhysicalOffsetFrame"
DEEPEST_FRAME = 100
"""Largest number of frames between a frame and its body."""

WITHOUT_MECHANICS = {
    "FrameGeometry": "axes of a frame in pictures",
    "Appearance": "pictures have colors of their own",
    "VisibleObject": "pictures of OpenSim 3",
    "groups": "groups of the user interface",
}
"""Properties of components that are no mechanics."""


class WrapSurface(NamedTuple):
    """A surface: its body, quadrant and centre in the body frame, m.

    Also whether it wraps only lines that cut it, and whether paths lead through it.
    """

    body: str
    quadrant: str
    centre: Floats
    wraps_where_cut: bool
    is_ring: bool


class Osim:
    """A model of OpenSim that is being read.

    Attributes
    ----------
    reading, draft
        The source, and the scene.
    coordinates
        Address of each coordinate in the scene by its name: a joint, or `joint/1`.
    prescribed
        Coordinates that are locked or functions of time.
    geometries
        Body and shape of each geometry of contacts, by its name.
    contacts
        Pairs of bodies that touch, as entries of the scene by both bodies.
    controls
        Controls that are functions of time, as signals by the names of their actuators.
    surfaces
        The surfaces over which paths wrap, by name.
    """

    def __init__(self, document: Element, root: Element, reading: Reading, draft: Draft) -> None:
        self.reading, self.draft = reading, draft
        self.coordinates: dict[str, str] = {}
        self.prescribed: set[str] = set()
        self.controls: dict[str, Any] = {}
        self.geometries: dict[str, tuple[str, Shape]] = {}
        self.contacts: dict[frozenset[str], dict[str, Any]] = {}
        self.surfaces: dict[str, WrapSurface] = {}
        self._defaults = {one.tag: one for element in document.all("defaults") for one in element.children}
        self._paths: dict[str, Element] = {}
        self._path_of: dict[int, str] = {}
        for child in root.children:
            self._collect(child, "")
        if "/ground" not in self._paths:  # files before version 4 may leave it out
            self._collect(Element("Ground", {"name": "ground"}, root.mark), "")

    def _collect(self, element: Element, path: str) -> None:
        name = element.attributes.get("name") or ("ground" if element.tag == "Ground" else None)
        own = f"{path}/{name}" if name else path
        if name:
            self._paths.setdefault(own, element)
        self._path_of[id(element)] = own
        for child in element.children:
            self._collect(child, own)

    # --- properties ---------------------------------------------------------------------------------------------------
    def property(self, element: Element, tag: str) -> Element | None:
        """Return a property of a component, or that of the default object of its class; None if it has no value."""
        found = self.reading.child(element, tag)
        if found is not None and not found.text.strip() and not found.children:
            found = None
        default = self._defaults.get(element.tag)
        if found is None and default is not None and default is not element:
            found = self.reading.child(default, tag)
        return found

    def text(self, element: Element, tag: str, default: str = "") -> str:
        """Return the text of a property."""
        found = self.property(element, tag)
        return default if found is None else self.reading.text(found, TEXT)

    def flag(self, element: Element, tag: str, default: bool) -> bool:
        """Return a property that is true or false."""
        return self.text(element, tag, str(default)).lower() == "true"

    def number(self, element: Element, tag: str, default: float) -> float:
        """Return a property that is a number."""
        found = self.property(element, tag)
        return default if found is None else self.reading.number(found, TEXT)

    def numbers(self, element: Element, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return a property that has as many numbers as its default."""
        found = self.property(element, tag)
        return default if found is None else self.reading.numbers(found, TEXT, len(default))

    def objects(self, parent: Element, tag: str) -> list[Element]:
        """Return the components of a set, and claim the set."""
        found: list[Element] = []
        for one in self.reading.children(parent, tag):
            self.reading.ledger.keep(one, "name")
            for part in one.children:
                if part.tag == "objects":
                    self.reading.ledger.keep(part)
                    found += part.children
                elif part.tag in WITHOUT_MECHANICS:
                    self.reading.ledger.drop(part, WITHOUT_MECHANICS[part.tag])
        return found

    def drop(self, element: Element, reasons: dict[str, str]) -> None:
        """Drop properties of a component, by their tags."""
        for one in element.children:
            reason = reasons.get(one.tag, WITHOUT_MECHANICS.get(one.tag))
            if reason:
                self.reading.ledger.drop(one, reason)

    def is_enforced(self, element: Element, tag: str, default: bool = True) -> bool:
        """Claim a component and its name; drop it if a property disables it."""
        self.reading.ledger.keep(element, "name")
        if self.flag(element, tag, default) and not self.flag(element, "isDisabled", False):
            return True
        self.reading.ledger.drop(element, "has no effect at the start")
        return False

    # --- components by paths ------------------------------------------------------------------------------------------
    def component(self, element: Element, tag: str, kinds: tuple[str, ...] = ()) -> Element | None:
        """Return the component that a socket, or a property with a name, names; an error if there is none."""
        name = self.text(element, tag)
        found = self._paths.get(posixpath.normpath(posixpath.join(self._path_of[id(element)] or "/", name)))
        if found is not None and name:
            return found
        last = name.rsplit("/", 1)[-1]
        known = {path.rsplit("/", 1)[-1]: one for path, one in self._paths.items() if not kinds or one.tag in kinds}
        if last not in known:  # files of earlier versions have names without a path
            self.reading.refuse(element, f"{tag}: there is no component `{name}`; {nearest(last, sorted(known))}")
        return known.get(last)

    def has(self, name: str) -> bool:
        """Whether the model has a component with a name, in any path."""
        return any(path.rsplit("/", 1)[-1] == name for path in self._paths)

    def frame(self, element: Element, tag: str) -> tuple[str, FramePose]:
        """Return the body, or the world, and the pose in it of the frame that a socket names; an empty name if none."""
        found = self.component(element, tag, (*BODIES, OFFSET))
        return ("", IDENTITY) if found is None else self.place(found)

    def place(self, frame: Element) -> tuple[str, FramePose]:
        """Return the body, or the world, and the pose in it of a frame."""
        pose = IDENTITY
        for _ in range(DEEPEST_FRAME):
            if frame.tag != OFFSET:
                return self.body_name(frame), pose
            translation = self.numbers(frame, "translation", (0.0, 0.0, 0.0))
            pose = of_body_angles(translation, self.numbers(frame, "orientation", (0.0, 0.0, 0.0))).at(pose)
            base = self.component(frame, "socket_parent", (*BODIES, OFFSET))
            if base is None:
                return WORLD, pose
            frame = base
        self.reading.refuse(frame, "its frames refer to each other in a circle")
        return WORLD, pose

    def body_name(self, element: Element) -> str:
        """Return the name in the scene of a body or of the ground."""
        return WORLD if element.tag == "Ground" else element.attributes.get("name", "")


def of_body_angles(position: Sequence[float], angles: Sequence[float]) -> FramePose:
    """Return the pose with Euler angles about the axes x, y, z of the body in this order, rad."""
    opposite = FramePose.of_euler(position, [-angle for angle in angles])
    return FramePose(
        opposite.position, opposite.rotation.T, {"euler": list(angles), "order": "XYZ"} if any(angles) else {}
    )
