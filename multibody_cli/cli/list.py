"""`mbsim list`: lists the catalogues of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.tables import show_json, show_table

if TYPE_CHECKING:
    from multibody_cli.spec import Spec

Rows = list[dict[str, Any]]


def list_methods() -> Rows:
    """List the methods."""
    from multibody_cli.methods import METHODS

    return [
        {"method": name, "description": kind.description, "options": ", ".join(kind.Options.model_fields)}
        for name, kind in METHODS.items()
    ]


def list_features() -> Rows:
    """List which method supports which feature; other methods reject the scene before the run."""
    from multibody_cli.methods import METHODS
    from multibody_cli.methods.contract import Feature

    rows: Rows = [{"feature": feature.value} for feature in Feature]
    for name, kind in METHODS.items():
        for feature, row in zip(Feature, rows, strict=True):
            row[name] = "yes" if feature in kind.supports else "no"
    return rows


def list_integrators() -> Rows:
    """List the integrators."""
    from multibody_cli.methods.integrators import INTEGRATORS

    return [
        {
            "integrator": one.name,
            "order": one.order,
            "steps": "adaptive" if one.adaptive else "fixed",
            "description": one.description,
        }
        for one in INTEGRATORS.values()
    ]


def list_joints() -> Rows:
    """List the joints; the number of degrees of freedom of a composite joint is the sum over its parts."""
    from multibody_cli.joints import JOINTS

    return [
        {
            "joint": name,
            "DoF": len(kind.spec.COORDINATES) if kind.spec.COORDINATES or name == "fixed" else None,
            "coordinates": " ".join(kind.spec.COORDINATES),
            "description": _summary(kind.spec),
        }
        for name, kind in JOINTS.items()
    ]


def list_shapes() -> Rows:
    """List the shapes."""
    from multibody_cli.scene.shapes import SHAPES
    from multibody_cli.scene.shapes.contract import ShapeSpec, SolidSpec

    shared = {*ShapeSpec.model_fields, *SolidSpec.model_fields}
    return _described("shape", {name: kind.spec for name, kind in SHAPES.items()}, *shared)


def list_channels() -> Rows:
    """List the channels: the recorded datasets and the channels of one body that are computed from them."""
    from multibody_cli.output.schema import describe

    description = describe()
    return [
        {"channel": one["path"], "units": one.get("units", ""), "description": one["description"]}
        for one in (*description["datasets"], *description["computed"])
    ]


def list_springs() -> Rows:
    """List the force elements between bodies, with the section of the scene that contains them."""
    from multibody_cli.forces.elements import SPRING_KINDS
    from multibody_cli.forces.muscle import MuscleSpec
    from multibody_cli.forces.spring import StrandSpec

    sections: list[tuple[str, Mapping[str, type[Spec]]]] = [
        ("springs", SPRING_KINDS),
        ("muscles", {"muscle": MuscleSpec}),
        ("strands", {"strand": StrandSpec}),
    ]
    return [
        {"spring": row.pop("spring"), "section": section, **row}
        for section, kinds in sections
        for row in _described("spring", kinds)
    ]


def _entries_of(module: str, catalogue: str, word: str, *shared: str) -> Callable[[], Rows]:
    """Return the function that lists a catalogue of a module, of Specs or of kinds with a `spec`."""

    def rows() -> Rows:
        entries = getattr(import_module(f"multibody_cli.{module}"), catalogue)
        return _described(word, {name: getattr(entry, "spec", entry) for name, entry in entries.items()}, *shared)

    return rows


LISTS: dict[str, Callable[[], Rows]] = {
    "methods": list_methods,
    "features": list_features,
    "integrators": list_integrators,
    "joints": list_joints,
    "shapes": list_shapes,
    "channels": list_channels,
    "couplings": _entries_of("constraints", "COUPLINGS", "coupling", "type"),
    "constraints": _entries_of("constraints", "CONSTRAINTS", "constraint", "type"),
    "forces": _entries_of("forces.elements", "FORCES", "force"),
    "actuators": _entries_of("actuators", "ACTUATORS", "actuator"),
    "springs": list_springs,
    "curves": _entries_of("joints.geometry.curve_specs", "CURVES", "curve", "type"),
    "surfaces": _entries_of("joints.geometry.surfaces", "SURFACES", "surface", "type", "inside"),
}
"""Each list, by its argument on the command line."""


@click.command("list", cls=Verb, short_help="List methods, integrators, joints and other names.")
@click.argument("kind", type=click.Choice(list(LISTS)))
@click.option("--json", "as_json", is_flag=True, help="Write the list as JSON.")
def verb(kind: str, as_json: bool) -> int:
    """List the names that a scene or the command line may use."""
    rows = LISTS[kind]()
    show_json(rows) if as_json else show_table(rows)
    return 0


def _described(word: str, specs: Mapping[str, type[Spec]], *shared: str) -> Rows:
    """Describe entries by their fields, without those that all of them share, and the first line of their docstring."""
    return [
        {
            word: name,
            "fields": ", ".join(field for field in spec.model_fields if field not in shared),
            "description": _summary(spec),
        }
        for name, spec in specs.items()
    ]


def _summary(spec: type) -> str:
    """Return the first line of a docstring."""
    return (spec.__doc__ or "").strip().partition("\n")[0]
