"""Frames of SDF: the models, links, joints and frames of a file and of the files that it includes, with their poses.

A scope is the world or a model.  A name in it is that of one of its frames, or `model::name` of a frame in the scope of
a nested model.  The pose of a frame is relative to its base, another frame of the scope; without a base it is relative
to the scope itself, `__model__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD, Draft
from multibody_cli.foreign.frames import IDENTITY, Pose
from multibody_cli.foreign.geometry import Found, find_path
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.sdf_values import claim_root, flag_of, read_pose, text_of, version_of

MODEL = "__model__"
"""Name of the frame of a scope."""

SEPARATOR = "::"

MANIFEST = "model.config"
"""File in the folder of a model that names its SDF files."""

MOST_INCLUDES = 50
"""Largest depth of files that include others."""


NEAR = 4
"""Largest number of poses that are composed one by one, without those of all bases in the scope."""


@dataclass
class Frame:
    """A frame of a scope.

    Parameters
    ----------
    element
        The `<link>`, `<joint>`, `<frame>` or `<model>`.
    pose
        Its pose in the base.
    base
        Name of the frame that the pose is relative to.
    attached
        Name of the frame whose link carries this one; empty for a link.
    inner
        Scope of a model.
    placement
        Name of the frame of the model that has the pose, instead of that of the model.
    """

    element: Element
    pose: Pose = IDENTITY
    base: str = MODEL
    attached: str = ""
    inner: Scope | None = None
    placement: str = MODEL


@dataclass
class Scope:
    """The world or a model.

    Parameters
    ----------
    element, reading
        Its element, and the file of it.
    prefix
        Start of the names of its links and joints in the scene.
    is_static
        Whether its links are part of the world.
    is_world
        Whether it is the world.
    files
        The file and those that include it.
    version
        Version of SDF of the file.
    frames
        Its frames by name.
    canonical
        Name of the frame whose link carries the frame of the model.
    """

    element: Element
    reading: Reading
    prefix: str = ""
    is_static: bool = False
    is_world: bool = False
    files: tuple[Path, ...] = ()
    version: tuple[int, ...] = ()
    frames: dict[str, Frame] = field(default_factory=dict)
    canonical: str = ""
    _poses: dict[str, Pose] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._poses = {MODEL: IDENTITY, WORLD: IDENTITY} if self.is_world else {MODEL: IDENTITY}

    def add(self, name: str, frame: Frame) -> None:
        """Add a frame; report a name that is used already."""
        if name in self.frames:
            line = self.frames[name].element.mark.line
            self.reading.refuse(frame.element, f"the name is already used in line {line}")
        else:
            self.frames[name] = frame

    def find(self, name: str) -> Frame | None:
        """Return a frame of this scope or of one within; None without it."""
        head, _, inner = name.partition(SEPARATOR)
        frame = self.frames.get(head)
        if not inner or frame is None:
            return frame
        if frame.inner is None:
            return None
        return Frame(frame.element) if inner == MODEL else frame.inner.find(inner)

    def knows(self, name: str) -> bool:
        """Whether a name is that of a frame."""
        return name == MODEL or (name == WORLD and self.is_world) or self.find(name) is not None

    def pose(self, name: str) -> Pose:
        """Return the pose of a frame in this scope; of one whose bases form a loop, the identity, with an error."""
        chain: dict[str, Pose] = {}
        while name not in self._poses:
            head, _, inner = name.partition(SEPARATOR)
            frame = self.frames.get(head)
            if frame is None or name in chain:
                if frame is not None:
                    self.reading.refuse(frame.element, f"the pose of `{name}` is relative to itself")
                self._poses[name] = IDENTITY
                break
            own = frame.pose
            if frame.inner is not None:
                own = own.at(frame.inner.pose(frame.placement).inverse)
                own = own.at(frame.inner.pose(inner or MODEL))
            chain[name] = own
            name = frame.base
        found = self._poses[name]
        for one in reversed(chain):
            self._poses[one] = found = found.at(chain[one])
        return found

    def relative(self, name: str, outer: str) -> Pose | None:
        """Return the pose of a frame in a near one of its bases, by the numbers of the file; None if it is not near."""
        found = IDENTITY
        for _ in range(NEAR):
            frame = self.frames.get(name)
            if frame is None or frame.inner is not None:
                return None
            found, name = frame.pose.at(found), frame.base
            if name == outer:
                return found
        return None

    def carrier(self, name: str) -> tuple[Scope, str]:
        """Return the scope and the name of the link that carries a frame; the name is `world` for the world."""
        scope, seen = self, set()
        while (id(scope), name) not in seen:
            seen.add((id(scope), name))
            if name == WORLD or (name == MODEL and scope.is_world):
                return scope, WORLD
            name = scope.canonical if name == MODEL else name
            head, _, inner = name.partition(SEPARATOR)
            frame = scope.frames.get(head)
            if frame is None:
                return scope, WORLD
            if frame.inner is not None:
                scope, name = frame.inner, inner or MODEL
            elif frame.attached:
                name = frame.attached
            else:
                return scope, WORLD if scope.is_static else name
        self.reading.refuse(scope.element, f"frame `{name}` is attached to itself")
        return scope, WORLD

    def check(self) -> None:
        """Report names of bases and carriers that no frame has."""
        for frame in self.frames.values():
            for name in (frame.base, frame.attached):
                if name and not self.knows(name):
                    self.refuse_name(frame.element, name)
            if frame.inner is not None and not frame.inner.knows(frame.placement):
                frame.inner.refuse_name(frame.element, frame.placement)

    def refuse_name(self, element: Element, name: str) -> None:
        """Report a name that no frame of the scope has."""
        known = [*self.frames, MODEL]
        self.reading.problems.add(element.mark, (), f"{element}: there is no frame `{name}`; {nearest(name, known)}")

    def models(self, place: Pose = IDENTITY) -> Iterator[tuple[Scope, Pose]]:
        """Yield this scope and all within, each with its pose in the world."""
        yield self, place
        for name, frame in self.frames.items():
            if frame.inner is not None:
                yield from frame.inner.models(place.at(self.pose(name)))


class World:
    """The scopes of a file with their poses in the world, and the draft."""

    def __init__(self, top: Scope, draft: Draft) -> None:
        self.draft = draft
        self.has_contacts = top.element.tag == "world"
        self.scopes = list(top.models())
        self._places = {id(scope): place for scope, place in self.scopes}

    def pose(self, scope: Scope, name: str) -> Pose:
        """Return the pose of a frame in the world."""
        return IDENTITY if name == WORLD else self._places[id(scope)].at(scope.pose(name))

    def pose_in(self, carrier: tuple[Scope, str], scope: Scope, name: str) -> Pose:
        """Return the pose of a frame in the body of a link, or in the world."""
        owner, link = carrier
        if link == WORLD:
            return self.pose(scope, name)
        if owner is scope and name == link:
            return IDENTITY
        own = scope.relative(name, link) if owner is scope else None
        return self.pose(owner, link).inverse.at(self.pose(scope, name)) if own is None else own


# --- scopes -----------------------------------------------------------------------------------------------------------
def collect(scope: Scope) -> None:
    """Read the frames of a scope, and those of the models in it."""
    reading, element = scope.reading, scope.element
    for tag in ("link", "frame", "joint"):
        for one in reading.children(element, tag):
            pose, base = read_pose(reading, one)
            attached = ""
            if tag == "joint":
                attached = text_of(reading, one, "child")
            elif tag == "frame":
                attached = reading.text(one, "attached_to", MODEL) or MODEL
            scope.add(reading.text(one, "name"), Frame(one, pose, base or attached or MODEL, attached))
    for one in reading.children(element, "model"):
        _add_model(scope, one, scope)
    for one in element.all("include"):
        _include(scope, one)
    links = [name for name, frame in scope.frames.items() if frame.element.tag == "link"]
    models = [name for name, frame in scope.frames.items() if frame.inner is not None]
    own = reading.text(element, "canonical_link", "")
    scope.canonical = own or next(iter([*links, *models]), WORLD)
    if own and not scope.knows(own):
        scope.refuse_name(element, own)
    scope.check()


def _add_model(scope: Scope, model: Element, source: Scope, include: Element | None = None) -> None:
    """Add a model of a file, `source`, to a scope; an `<include>` may replace its name and pose."""
    reading = source.reading
    name, (pose, base) = reading.text(model, "name"), read_pose(reading, model)
    is_static, placement = flag_of(reading, model, "static"), reading.text(model, "placement_frame", MODEL)
    if include is not None:
        outer = scope.reading
        name = text_of(outer, include, "name", name)
        pose, base = read_pose(outer, include) if include.all("pose") else (pose, base)
        is_static = flag_of(outer, include, "static") or is_static
        placement = text_of(outer, include, "placement_frame", placement)
    prefix = "" if scope.element.tag == "sdf" else f"{scope.prefix}{name}{SEPARATOR}"
    inner = Scope(model, reading, prefix, is_static or scope.is_static, files=source.files, version=source.version)
    collect(inner)
    scope.add(name, Frame(include or model, pose, base or MODEL, inner=inner, placement=placement))


def _include(scope: Scope, include: Element) -> None:
    """Read the model of an `<include>`; one whose file is not found is dropped."""
    reading, ledger = scope.reading, scope.reading.ledger
    ledger.keep(include)
    uri = text_of(reading, include, "uri")
    if not uri:
        reading.refuse(include, "expected a <uri>")
        return
    if reading.text(include, "merge", "false") in ("true", "1"):
        reading.refuse(include, "`merge` is not read: include the model without it, and name its frames by `model::`")
        return
    found = find_path(reading, uri, Path.exists) if "://" in uri.removeprefix("file://") else _near(reading, uri)
    if found.file is None:
        ledger.drop(include, found.reason)
        return
    file = found.file if found.file.is_file() else _file_of(reading, include, found.file)
    if file is None:
        return
    if any(file.samefile(one) for one in scope.files) or len(scope.files) > MOST_INCLUDES:
        reading.refuse(include, f"{file} includes itself")
        return
    root = reading.parse(file, include)
    inner = Reading(file, reading.options, reading.problems, ledger, reading.usage)
    ledger.add_source(root)
    claim_root(root, inner)
    version = version_of(root.attributes.get("version", ""))
    source = Scope(root, inner, files=(*scope.files, file), version=version)
    model = inner.child(root, "model")
    if model is None:
        reading.refuse(include, f"{file} has no <model>")
    else:
        _add_model(scope, model, source, include)


def _near(reading: Reading, uri: str) -> Found:
    """Return the file or folder of a path; a bare name is also searched upward, as that of `model://`."""
    found = find_path(reading, uri, Path.exists)
    return found if found.file is not None or "://" in uri else find_path(reading, f"model://{uri}", Path.exists)


def _file_of(reading: Reading, include: Element, folder: Path) -> Path | None:
    """Return the SDF file of the folder of a model, of several that with the latest version of SDF."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        reading.ledger.drop(include, f"{folder} has no file {MANIFEST}")
        return None
    files = [one for one in reading.parse(manifest, include).all("sdf") if one.text.strip()]
    if not files:
        reading.ledger.drop(include, f"{manifest} names no file in <sdf>")
        return None
    file = folder / max(files, key=lambda one: version_of(one.attributes.get("version", ""))).text.strip()
    if not file.is_file():
        reading.ledger.drop(include, f"no such file: {file}")
        return None
    return file
