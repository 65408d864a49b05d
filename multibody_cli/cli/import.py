"""`mbsim import`: reads a model of another program, and reports the elements that a scene keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, FLOOR, PATH
from multibody_cli.cli.tables import show, show_json
from multibody_cli.errors import ArgumentError

if TYPE_CHECKING:
    from multibody_cli.foreign.draft import Draft
    from multibody_cli.scene.schema import SceneSpec
    from multibody_cli.studies.import_check import ImportCheck


@click.command("import", cls=Verb, short_help="Read a model of another program: URDF, MJCF, SDF, OpenSim.")
@click.argument("model", metavar="FILE", type=PATH)
@click.option("-o", "--output", metavar="SCENE", type=FILE, help="Write a scene file.")
@click.option("--force", is_flag=True, help="Replace an existing scene file.")
@click.option(
    "--merge",
    type=click.Choice(["frames", "all", "none"]),
    default="frames",
    help="Links that become one body with the link that they are fixed to: `frames`, those without mass; `all`; "
    "`none`. Default: frames.",
)
@click.option("--density", metavar="DENSITY", help="Of the shapes of links without mass, as in 1000 or '1 g/cm^3'.")
@click.option("--repair", is_flag=True, help="Replace inertias that no body has by the nearest possible ones.")
@click.option("--decompose", is_flag=True, help="Let meshes have contacts by convex parts instead of their hulls.")
@click.option("--angles", is_flag=True, help="Let balls and free joints of OpenSim have its angles as coordinates.")
@click.option("--volumes", is_flag=True, help="Report by how much hulls and convex parts exceed their meshes.")
@click.option("--package", "packages", metavar="NAME=DIR", multiple=True, help="Folder of a package of ROS.")
@click.option("--arg", "arguments", metavar="NAME=VALUE", multiple=True, help="Argument of macros of a xacro file.")
@click.option(
    "--fixed/--free", "fixed", default=None, help="Fix bases to the world, or free them. Default: as written."
)
@FLOOR
@click.option("--strict", is_flag=True, help="Refuse a model of which a scene cannot keep everything.")
@click.option("--check", is_flag=True, help="Compare equations and energies with those of the file's own engine.")
@click.option("--report", type=click.Choice(["text", "json"]), default="text", help="Default: text.")
def verb(model: Path, output: Path | None, force: bool, check: bool, volumes: bool, report: str, **choices: Any) -> int:
    """Read FILE, a model of another program, and report each element that a scene approximates or drops.

    Elements that are not in the report are kept. With -o, the scene is written, with the report as comments.
    `mbsim run` and other verbs read FILE directly; a scene may name it in `include`.

    Exit code: 0; 1 if --check reports a difference; 2 if the model cannot be used, or has losses with --strict.
    """
    from multibody_cli.document.formats import FORMATS
    from multibody_cli.document.source import ReadScene
    from multibody_cli.foreign import read_model
    from multibody_cli.foreign.ledger import ImportReport
    from multibody_cli.foreign.writing import text
    from multibody_cli.limits import Usage
    from multibody_cli.nodes import Problems
    from multibody_cli.output.file_replacement import require_replaceable, write_text
    from multibody_cli.scene.load import load_scene

    if model.suffix.lower() in FORMATS:
        raise ArgumentError(f"{model} is a scene, and no model of another program: `mbsim run {model}` reads it")
    if output is not None:
        if output.exists() and output.samefile(model):
            raise ArgumentError(f"-o {output}: it is the model itself: choose another name")
        require_replaceable(output, force)
    problems, usage = Problems(), Usage()
    draft = read_model(model, _options(**choices), problems, usage)
    loaded = None if draft.is_still and not check else load_scene(ReadScene(model, draft.tree(), usage))
    if volumes and loaded is not None:
        _state_excess_volumes(draft, loaded.scene)
    found, comparison = ImportReport(draft.ledger), _check(draft) if check else None
    if report == "json":
        compared = {} if comparison is None else {"check": comparison.data()}
        show_json({"model": str(model), **found.data(), **compared})
    else:
        for line in [*found.lines(), *(comparison.lines() if comparison else ())]:
            show(line)
    for warning in [] if loaded is None else loaded.warnings:
        messages.warning(warning)
    if loaded is None:
        messages.note("the model has no body that moves: a scene may name it in `include`")
    if output is not None:
        write_text(output, text(draft, output.parent))
        messages.note(f"wrote {output}")
    return 0 if comparison is None or comparison.agrees else 1


def _check(draft: Draft) -> ImportCheck:
    """Compare the scene with the engine of its file."""
    from tempfile import TemporaryDirectory

    from multibody_cli.document.source import ReadScene
    from multibody_cli.limits import Usage
    from multibody_cli.peers import ENGINES, PEERS
    from multibody_cli.studies.import_check import check_import
    from multibody_cli.studies.simulation import prepare

    if draft.format not in ENGINES:
        raise ArgumentError(f"--check: no engine reads the format of {draft.source}")
    try:
        with TemporaryDirectory() as folder:
            path = Path(folder, "expanded.urdf") if draft.expanded else draft.source
            if draft.expanded:
                path.write_text(draft.expanded, encoding="utf-8")
            engine = ENGINES[draft.format].read(path)
    except ImportError as error:
        packages = {peer.module: peer.package for peer in PEERS.values()}
        package = packages.get(error.name or "", error.name)
        raise ArgumentError(f"--check needs {error.name}: pip install {package}") from None
    except Exception as error:  # each engine has exceptions of its own
        message = " ".join(str(error).split())
        raise ArgumentError(f"--check: {ENGINES[draft.format].title} does not read {draft.source}: {message}") from None
    return check_import(prepare(ReadScene(draft.source, draft.tree(engine.leaves_out), Usage())), draft, engine)


def _state_excess_volumes(draft: Draft, scene: SceneSpec) -> None:
    """State in the ledger by how much convex shapes in contacts exceed their meshes."""
    from multibody_cli.foreign.draft import WORLD
    from multibody_cli.scene.shapes.mesh import MeshSpec, excess_volume

    read = {WORLD: scene.world.shapes} | {name: body.shapes for name, body in scene.bodies.items()}
    for body in (draft.world, *draft.bodies.values()):
        for shape, spec in zip(body.shapes, read[body.name], strict=True):
            if shape.element is not None and shape.mesh is not None and isinstance(spec, MeshSpec):
                draft.ledger.add_effect(shape.element, excess_volume(spec, shape.mesh))


def _options(
    density: str | None,
    floor: str | None,
    packages: tuple[str, ...],
    arguments: tuple[str, ...],
    fixed: bool | None,
    **rest: Any,
) -> Any:
    """Return the options of the import."""
    from multibody_cli.foreign.options import Options
    from multibody_cli.spec import units
    from multibody_cli.spec.quantities import Quantity

    folders = {name: Path(folder) for name, folder in _pairs("--package", "NAME=DIR", packages).items()}
    for name, folder in folders.items():
        if not folder.is_dir():
            raise ArgumentError(f"--package {name}={folder}: there is no folder {folder}")
    given = None if density is None else Quantity(units.DENSITY, above=0.0).read(density)
    distance = None if floor is None else Quantity(units.LENGTH).read(floor)
    base: Literal["fixed", "free"] | None = None if fixed is None else "fixed" if fixed else "free"
    words = _pairs("--arg", "NAME=VALUE", arguments)
    return Options(density=given, floor=distance, packages=folders, arguments=words, base=base, **rest)


def _pairs(option: str, form: str, words: tuple[str, ...]) -> dict[str, str]:
    """Return the values of an option by name, from words of a form such as `NAME=VALUE`."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise ArgumentError(f"{option} {word}: expected {form}")
        found[name] = value
    return found
