"""Frames of SDF: the models, links, joints and frames of a file and of the files that it includes, with their poses.

A scope is the world or a model.  A name in it is that of one of its frames, or `model::name` of a frame in the scope of
a nested model.  A model that is merged has a scope of its own, whose names are also those of the outer one.  The pose
of a frame is relative to its base, another frame of the scope; without a base it is relative to the scope itself,
`__model__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD, Body, Draft
from multibody_cli.foreign.frames import IDENTITY, FramePose
from multibody_cli.foreign.geometry import FoundFile, find_path
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.sdf_values import claim_root, flag_of, read_pose, text_of, version_of

MODEL = "__model__"
"""Name of the frame of a scope."""

SEPARATOR = "::"

OF_THE_WORLD = "the child is part of the world, which does not move: swap <parent> and <child>"
"""Message on a joint that could not move its child."""

MANIFEST = "model.config"
"""File in the folder of a model that names its SDF files."""

MOST_INCLUDES = 50
"""Largest depth of files that include others."""


NEAR = 4
"""Largest number of poses that are composed one by one, without those of all bases in the scope."""

FIRST_WITH_UNIQUE_NAMES = (1, 7)
"""Version of SDF in which links, joints and frames have no names in common."""

MERGED = "_merged__{}__model__"
"""Name of the frame of a merged model."""


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
    pose: FramePose = IDENTITY
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
    is_merged
        Whether its links, joints and frames are those of the outer scope.
    merged
        By name of the outer scope, the frame of the merged model that has it.
    dropped
        By name of an `<include>` that is dropped, the reason.
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
    is_merged: bool = False
    merged: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    _poses: dict[str, FramePose] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._poses = {MODEL: IDENTITY, WORLD: IDENTITY} if self.is_world else {MODEL: IDENTITY}

    def add(self, name: str, frame: Frame) -> None:
        """Add a frame; report a name that is used already."""
        if name in self.frames or name in self.merged:
            line = self.frames[self.merged.get(name, name)].element.mark.line
            self.reading.refuse(frame.element, f"the name is already used in line {line}")
        else:
            self.frames[name] = frame

    def merge(self, name: str, frame: Frame, inner: Scope) -> None:
        """Add the frame of a merged model, and the names in its scope."""
        self.add(name, frame)
        for own in [*inner.frames, *inner.merged]:
            if own in self.frames or own in self.merged:
                self.reading.refuse(frame.element, f"the name `{own}` of the merged model is already used")
            else:
                self.merged[own] = name

    @property
    def count(self) -> int:
        """The number of its links and models."""
        return sum(frame.element.tag == "link" or frame.inner is not None for frame in self.frames.values())

    def split(self, name: str) -> tuple[str, str]:
        """Return the name of a frame of this scope, and the rest: a name in the scope of its model, or empty."""
        if name in self.frames:
            return name, ""
        head, _, inner = name.partition(SEPARATOR)
        return (self.merged[head], name) if head in self.merged else (head, inner)

    def find(self, name: str) -> Frame | None:
        """Return a frame of this scope or of one within; None without it."""
        head, inner = self.split(name)
        frame = self.frames.get(head)
        if not inner or frame is None:
            return frame
        if frame.inner is None:
            return None
        return Frame(frame.element) if inner == MODEL else frame.inner.find(inner)

    def knows(self, name: str) -> bool:
        """Whether a name is that of a frame."""
        return name == MODEL or (name == WORLD and self.is_world) or self.find(name) is not None

    def pose(self, name: str) -> FramePose:
        """Return the pose of a frame in this scope; of one whose bases form a loop, the identity, with an error."""
        chain: dict[str, FramePose] = {}
        while name not in self._poses:
            head, inner = self.split(name)
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

    def relative(self, name: str, outer: str) -> FramePose | None:
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
            head, inner = scope.split(name)
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
            if frame.attached == WORLD and frame.element.tag == "joint" and not self.is_world:
                self.reading.refuse(frame.element, OF_THE_WORLD)
                continue
            for name in (frame.base, frame.attached):
                if name and not self.knows(name):
                    self.refuse_name(frame.element, name)
            if frame.inner is not None and not frame.inner.knows(frame.placement):
                frame.inner.refuse_name(frame.element, frame.placement)

    def refuse_name(self, element: Element, name: str) -> None:
        """Report a name that no frame of the scope has."""
        reason = self.dropped.get(name.partition(SEPARATOR)[0])
        hint = (
            nearest(name, [*self.frames, *self.merged, MODEL]) if reason is None else f"its model is dropped: {reason}"
        )
        self.reading.refuse(element, f"there is no frame `{name}`; {hint}")

    def models(self, place: FramePose = IDENTITY) -> Iterator[tuple[Scope, FramePose]]:
        """Yield this scope and all within, each with its pose in the world."""
        yield self, place
        for name, frame in self.frames.items():
            if frame.inner is not None:
                yield from frame.inner.models(place.at(self.pose(name)))


class World:
    """The scopes of a file with their poses in the world, the draft, and the bodies on which gravity does not act."""

    def __init__(self, top: Scope, draft: Draft) -> None:
        self.draft = draft
        self.floating: list[tuple[Body, Element]] = []
        self.has_contacts = top.element.tag == "world" or top.reading.options.floor is not None
        self.scopes = list(top.models())
        self._places = {id(scope): place for scope, place in self.scopes}

    def pose(self, scope: Scope, name: str) -> FramePose:
        """Return the pose of a frame in the world."""
        return IDENTITY if name == WORLD else self._places[id(scope)].at(scope.pose(name))

    def pose_in(self, carrier: tuple[Scope, str], scope: Scope, name: str) -> FramePose:
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
    for tag in ("link", "joint", "frame"):
        for one in reading.children(element, tag):
            pose, base = read_pose(reading, one)
            attached = ""
            if tag == "joint":
                attached = text_of(reading, one, "child")
            elif tag == "frame":
                attached = reading.text(one, "attached_to", MODEL) or MODEL
            name = reading.text(one, "name")
            if name in scope.frames and scope.frames[name].element.tag != tag and _may_share_names(scope):
                name = f"{name}_{tag}"
            scope.add(name, Frame(one, pose, base or attached or MODEL, attached))
    for one in reading.children(element, "model"):
        _add_model(scope, one, scope)
    for one in element.all("include"):
        _include(scope, one)
    own = reading.text(element, "canonical_link", "")
    scope.canonical = own or _first_link(scope)
    if own and not scope.knows(own):
        scope.refuse_name(element, own)
    scope.check()


def _may_share_names(scope: Scope) -> bool:
    return scope.version < FIRST_WITH_UNIQUE_NAMES


def _first_link(scope: Scope) -> str:
    """Return the name of the first link, or else of the first model; merged links count where they are included."""
    places = {id(one): number for number, one in enumerate(scope.element.children)}
    links = [(places[id(frame.element)], name) for name, frame in scope.frames.items() if frame.element.tag == "link"]
    merged = [frame for frame in scope.frames.values() if frame.inner is not None and frame.inner.is_merged]
    links += [(places[id(frame.element)], frame.inner.canonical) for frame in merged if frame.inner is not None]
    models = [name for name, frame in scope.frames.items() if frame.inner is not None]
    return min(links)[1] if links else next(iter(models), WORLD)


def _add_model(scope: Scope, model: Element, source: Scope, include: Element | None = None) -> None:
    """Add a model of a file, `source`, to a scope; an `<include>` may replace its name and pose, or merge it."""
    reading, is_merged = source.reading, False
    name, (pose, base) = reading.text(model, "name"), read_pose(reading, model)
    is_static, placement = flag_of(reading, model, "static"), reading.text(model, "placement_frame", MODEL)
    if include is not None:
        outer = scope.reading
        name = text_of(outer, include, "name", name)
        pose, base = read_pose(outer, include) if include.all("pose") else (pose, base)
        is_static = flag_of(outer, include, "static") or is_static
        placement = text_of(outer, include, "placement_frame", placement)
        is_merged = outer.text(include, "merge", "false") in ("true", "1")
    is_only = scope.element.tag == "sdf" and sum(one.tag in ("model", "include") for one in scope.element.children) == 1
    prefix = scope.prefix if is_merged or is_only else f"{scope.prefix}{name}{SEPARATOR}"
    if is_merged:
        is_static = False
        for one in [one for tag in ("static", "self_collide") for one in model.all(tag)]:
            reading.ledger.drop(one, "a merged model has the settings of the outer one")
    inner = Scope(model, reading, prefix, is_static or scope.is_static, files=source.files, version=source.version)
    inner.is_merged = is_merged
    collect(inner)
    frame = Frame(include or model, pose, base or MODEL, inner=inner, placement=placement)
    if not is_merged:
        scope.add(name, frame)
    elif scope.is_world and model.all("link"):
        scope.reading.refuse(frame.element, "a world has no links: include the model without `merge`")
    else:
        scope.merge(MERGED.format(name), frame, inner)


def _include(scope: Scope, include: Element) -> None:
    """Read the model of an `<include>`; one whose file is not found is dropped."""
    reading, ledger = scope.reading, scope.reading.ledger
    ledger.keep(include)
    uri = text_of(reading, include, "uri")
    if not uri:
        reading.refuse(include, "expected a <uri>")
        return
    found = find_path(reading, uri, Path.exists) if "://" in uri.removeprefix("file://") else _near(reading, uri)
    found = found if found.file is None or found.file.is_file() else _file_of(reading, include, found.file)
    file = found.file
    if file is None:
        ledger.drop(include, found.reason)
        scope.dropped[text_of(reading, include, "name", uri.rpartition("/")[2])] = found.reason
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
    if model is not None:
        _add_model(scope, model, source, include)
    elif root.tag == "sdf":
        ledger.drop(include, f"{file} has no <model>")
    else:
        reading.refuse(include, f"{file} is not SDF: its root element is <{root.tag}>")


def _near(reading: Reading, uri: str) -> FoundFile:
    """Return the file or folder of a path; a bare name is also searched upward, as that of `model://`."""
    found = find_path(reading, uri, Path.exists)
    return found if found.file is not None or "://" in uri else find_path(reading, f"model://{uri}", Path.exists)


def _file_of(reading: Reading, include: Element, folder: Path) -> FoundFile:
    """Return the SDF file of the folder of a model, of several that with the latest version of SDF."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return FoundFile(None, f"{folder} has no file {MANIFEST}")
    files = [one for one in reading.parse(manifest, include).all("sdf") if one.text.strip()]
    if not files:
        return FoundFile(None, f"{manifest} names no file in <sdf>")
    file = folder / max(files, key=lambda one: version_of(one.attributes.get("version", ""))).text.strip()
    return FoundFile(file) if file.is_file() else FoundFile(None, f"no such file: {file}")
