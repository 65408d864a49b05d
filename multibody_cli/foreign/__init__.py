"""Models of other programs: URDF and others, read into scenes; see `contract.py`."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

import numpy as np

from multibody_cli.errors import listed, series
from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import WORLD, Draft, Origin, Placed
from multibody_cli.foreign.geometry import refuse_mesh
from multibody_cli.foreign.inertia import give_density, repair
from multibody_cli.foreign.ledger import ImportReport, Ledger
from multibody_cli.foreign.markup import parse, read_content
from multibody_cli.foreign.merging import fix_massless_leaves, merge_links, settle_bases
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.renaming import rename
from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import Mark, Problems, refusal
from multibody_cli.registry import Registry

SUFFIXES = {
    "urdf": (".urdf", ".xml"),
    "xacro": (".xacro",),
    "mjcf": (".xml", ".mjcf"),
    "sdf": (".sdf", ".world"),
    "osim": (".osim", ".xml"),
}
"""Suffixes of the files of each format; several formats of one suffix differ by the root element."""

MOST_NAMES = 3
"""Largest number of bodies that a warning lists."""


FORMATS: Registry[Format] = Registry.of_modules(__name__, {name: f"{name}.FORMAT" for name in SUFFIXES})
"""Every format by the name of its module."""


def is_foreign(path: str | PurePath) -> bool:
    """Whether a file is a model of another program, by its suffix."""
    return bool(_candidates(path))


def _candidates(path: str | PurePath) -> list[str]:
    suffix = PurePath(path).suffix.lower()
    return [name for name, suffixes in SUFFIXES.items() if suffix in suffixes]


def read_model(
    path: Path, options: Options, problems: Problems, usage: Usage | None = None, content: bytes | None = None
) -> Draft:
    """Read a model of another program.

    Parameters
    ----------
    path
        The file; messages name it as it is written here.
    options
        Choices of the user.
    problems
        Collects errors that do not stop the reader.
    usage
        Counts the bytes of all files, and their values.
    content
        The content, if it is not read from the file.

    Raises
    ------
    SceneError
        The file cannot be read, is of no known format, or has errors.
    """
    usage = usage or Usage()
    shown = str(path)
    refuse_mesh(path)
    document = parse(read_content(path, usage) if content is None else content, shown, usage)
    root = document.root
    reading = Reading(path, options, problems, Ledger(shown), usage)
    reading.ledger.add_source(root)
    for mark, remark in document.remarks:
        reading.ledger.note(mark, remark)
    name = _format_of(path, root.tag, root.mark)
    with np.errstate(over="ignore", invalid="ignore"):  # the scene refuses numbers that are not finite
        draft = FORMATS[name].read(root, reading)
    draft.format = name
    problems.raise_any()
    try:
        usage.add("elements", len(draft.bodies) + len(draft.joints))
    except LimitError as error:
        raise refusal(root.mark, str(error)) from None
    with np.errstate(over="ignore", invalid="ignore"):
        complete(draft, options, problems)
    report = ImportReport(draft.ledger)
    if options.strict:
        for entry in report.losses:
            problems.add(entry.element.mark, (), f"{entry.item}: {entry.fate}: {entry.message}")
    problems.raise_any()
    return draft


def _format_of(path: Path, tag: str, mark: Mark) -> str:
    """Return the name of the format of a file with a root element."""
    candidates = _candidates(path) or list(SUFFIXES)
    for name in candidates:
        if tag in FORMATS[name].roots:
            return name
    known = [f"<{root}> ({FORMATS[name].title})" for name in candidates for root in FORMATS[name].roots]
    raise refusal(mark, f"expected the root element {series(known, 'or')}, found <{tag}>")


def complete(draft: Draft, options: Options, problems: Problems) -> None:
    """Complete a draft: masses from densities, merged links, leaves without mass, bases, inertias, names."""
    if draft.is_still and (draft.world.shapes or draft.elements):
        return
    if draft.is_still:
        includes = [entry for entry in ImportReport(draft.ledger).losses if entry.element.tag == "include"]
        reasons = "".join(f"; its <include> is dropped: {entry.reason}" for entry in includes[:1])
        problems.stop(Mark(str(draft.source)), (), f"the model has no bodies{reasons}")
    if options.density is not None:
        give_density(draft, options.density)
    if all(body.is_massless for body in draft.bodies.values()):
        remedy = f"`mbsim import {draft.source} --density 1000 -o SCENE` computes masses from the shapes"
        problems.stop(Mark(str(draft.source)), (), f"no body has a mass: {remedy}")
    merge_links(draft, options.merge)
    fix_massless_leaves(draft)
    draft.free_bases = settle_bases(draft, options.base)
    _drop_empty_exclusions(draft)
    if options.repair:
        repair(draft)
    rename(draft)
    if options.floor is not None:
        _add_floor(draft, options.floor)
    _choose_integrator(draft)


def warnings_of(draft: Draft, is_alone: bool) -> Iterator[str]:
    """Yield warnings for verbs that do not show the report: of free bases, meshes without files, and losses.

    Parameters
    ----------
    draft
        The model.
    is_alone
        Whether it is the whole scene; a scene that includes it may hold its bases.
    """
    source, command = draft.source, f"mbsim import {draft.source}"
    scene = f"-o {source.with_suffix('.yaml').name}"
    if is_alone and draft.free_bases:
        names = listed([f"`{name}`" for name in draft.free_bases], MOST_NAMES)
        remedy = f"`{command} --fixed {scene}` fixes it"
        yield f"{source}: no joint connects {names} to the world, so that the model is free: {remedy}"
    missing = list(dict.fromkeys(draft.ledger.missing))
    if missing:
        packages = dict.fromkeys(name.split("/")[2] for name in missing if name.startswith(("package://", "model://")))
        folders = "".join(f" --package {name}=FOLDER" for name in packages)
        remedy = f"`{command}{folders} {scene}` reads them from there" if folders else f"`{command}` lists the places"
        meshes = f"{len(missing)} meshes, as `{missing[0]}`" if len(missing) > 1 else f"the mesh `{missing[0]}`"
        yield f"{source}: no file is found of {meshes}: {remedy}"
    if losses := ImportReport(draft.ledger).summary:
        yield f"{source}: imported: {losses}: `{command}` lists them"


def _drop_empty_exclusions(draft: Draft) -> None:
    """Remove excluded pairs of bodies that have become part of others."""
    contacts = draft.settings.get("contacts")
    pairs = [] if contacts is None else contacts.value.get("exclude", [])
    names = [WORLD, *draft.bodies]

    def is_used(pattern: str) -> bool:
        return any(fnmatchcase(name, pattern.replace("[", "[[]")) for name in names)

    kept = [pair for pair in pairs if all(map(is_used, pair))]
    if contacts is not None and len(kept) < len(pairs):
        rest = {key: value for key, value in contacts.value.items() if key != "exclude"}
        draft.settings["contacts"] = contacts._replace(value=rest | ({"exclude": kept} if kept else {}))


def _add_floor(draft: Draft, distance: float) -> None:
    """Add a floor to the contacts of a model, or to contacts between all links that are apart at the start."""
    given = draft.settings.get("contacts", Placed({"overlap": "exclude"}, Origin(draft.world.origin.mark)))
    draft.settings["contacts"] = given._replace(value={**given.value, "floor": distance})


def _choose_integrator(draft: Draft) -> None:
    """Let a model with damping and dry friction in joints treat the damping implicitly, where both have first order.

    Damping of drives, about 1 N m s, on links of 1e-4 kg m^2 limits the steps of explicit integrators to 0.2 ms.
    """
    joints = [joint.fields for joint in draft.joints.values()]
    if any("damping" in one for one in joints) and any("friction" in one for one in joints):
        simulation = draft.settings["simulation"]
        chosen = {**simulation.value, "integrator": "linearly_implicit_euler"}
        draft.settings["simulation"] = simulation._replace(value=chosen)
