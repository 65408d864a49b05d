"""Strands as bodies and springs: each free node is a point mass, each segment a spring."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.forces.spring import SpringSpec, StrandSpec
from multibody_cli.joints.spec import WORLD
from multibody_cli.mass import MassProperties, summed
from multibody_cli.output.samples import Samples
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import BodyPoint
from multibody_cli.spec.rotations import rotation_matrix

ATTACHMENT_TOLERANCE = 1e-9
"""Smallest distance that is reported, relative to the largest coordinate of the strand or of the attached point."""


def node_name(strand: str, node: int) -> str:
    """Name of the body of a node."""
    return f"{strand}-{node}"


def with_strands(scene: SceneSpec) -> SceneSpec:
    """Return a scene with the bodies and springs of its strands appended."""
    if not scene.strands:
        return scene
    bodies, springs = dict(scene.bodies), dict(scene.springs)
    for strand, spec in scene.strands.items():
        bodies |= _nodes(strand, spec)
        springs |= _segments(strand, spec)
    return scene.model_copy(update={"bodies": bodies, "springs": springs})


def _nodes(strand: str, spec: StrandSpec) -> dict[str, BodySpec]:
    share = spec.mass / len(spec.nodes)
    return {
        node_name(strand, k): BodySpec(kind="point", mass=share, position=position)
        for k, position in enumerate(spec.nodes)
        if k not in spec.attach
    }


def _segments(strand: str, spec: StrandSpec) -> dict[str, SpringSpec]:
    return {
        f"{node_name(strand, a)}-{b}": SpringSpec(
            between=[_end(strand, spec, a), _end(strand, spec, b)],
            stiffness=spec.stiffness,
            damping=spec.damping,
            rest_length=math.dist(spec.nodes[a], spec.nodes[b]),
        )
        for a, b in spec.pairs
    }


def _end(strand: str, spec: StrandSpec, node: int) -> BodyPoint:
    return spec.attach.get(node) or BodyPoint(body=node_name(strand, node))


def generated_names(strand: str, spec: StrandSpec) -> tuple[tuple[str, frozenset[str]], ...]:
    """Names that a strand generates, by section."""
    return (("bodies", frozenset(_nodes(strand, spec))), ("springs", frozenset(_segments(strand, spec))))


def unrelaxed_attachments(scene: SceneSpec, samples: Samples) -> Iterator[str]:
    """Report attached nodes whose initial position does not relax their strand."""
    bodies = list(scene.bodies)
    for strand, spec in scene.strands.items():
        extent = float(np.abs(spec.nodes).max())
        for node, end in spec.attach.items():
            position = np.array(end.point)
            if end.body != WORLD:
                k = bodies.index(end.body)
                position = samples.position[0, k] + rotation_matrix(samples.quaternion[0, k]) @ position
            apart = float(np.linalg.norm(position - spec.nodes[node]))
            if apart > ATTACHMENT_TOLERANCE * max(extent, float(np.linalg.norm(position))):
                where = ", ".join(f"{number:.6g}" for number in position)
                yield (
                    f"strand `{strand}`: node {node} is attached at [{where}], {apart:.3g} m from its position in "
                    "`nodes`: its segments are not relaxed initially"
                )


def add_attached_masses(scene: SceneSpec, masses: Mapping[str, MassProperties]) -> dict[str, MassProperties]:
    """Add the mass of attached nodes to their bodies."""
    loaded = dict(masses)
    for spec in scene.strands.values():
        share = spec.mass / len(spec.nodes)
        for _, end in spec.points:
            if end.body != WORLD:
                node = MassProperties(share, np.array(end.point), np.zeros((3, 3)))
                loaded[end.body] = summed([loaded[end.body], node])
    return loaded
