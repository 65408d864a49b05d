"""Scenes on a base that is turned and displaced: all that the scene measures in itself is the same.

Scenes have axes along those of the world, right angles and equal lengths.  A turned one has none of these to round-off,
so that a decision that depends on the round-off of a special position shows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import mbsim

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"
TURN, PLACE = Rotation.from_rotvec([0.3, -0.7, 1.1]), [0.2, -0.3, 0.5]
IN_THE_WORLD = {"forces", "sensors", "events", "states", "strands"}
"""Sections with vectors in the axes of the world."""

MEASURED = re.compile(
    r"joints/.*/[qv]|(constraints|paths|springs|muscles)/.*/(force|tension|length|rate)|energy/(kinetic|elastic)"
)
"""Channels that do not depend on the base."""

ALIKE = {"torus_chain": 1e-6, "torus_chain_on_curve": 1e-8}
"""Tolerances of long loops, relative to the largest value and at least 1; 1e-10 of all others, where 5e-12 is found."""


def on_a_base(scene: Any) -> Any:
    """A part of a scene with a body in place of the world."""
    if isinstance(scene, dict):
        fixed = {"body", "parent", "child"}
        return {
            key: "turntable" if key in fixed and part == "world" else on_a_base(part) for key, part in scene.items()
        }
    return [on_a_base(part) for part in scene] if isinstance(scene, list) else scene


def turned(scene: dict[str, Any]) -> dict[str, Any]:
    scene = on_a_base(scene)
    x, y, z, w = TURN.as_quat().tolist()
    for joint in scene["joints"].values():
        joint.setdefault("parent", "turntable")
    scene["bodies"]["turntable"] = {"mass": 1, "inertia": {"principal": [1, 1, 1]}, **scene.pop("world", {})}
    pose = {"position": PLACE, "rotation": {"quaternion": [w, x, y, z]}}
    scene["joints"]["turntable"] = {"type": "fixed", "child": "turntable", "origin": pose}
    scene["gravity"] = TURN.apply(scene.get("gravity", [0.0, 0.0, -9.81])).tolist()
    return scene


def is_carried(scene: dict[str, Any]) -> bool:
    """Whether joints carry all bodies, nothing else has the axes of the world, and nothing collides.

    Balls that touch without a force, as in a cradle, are in contact by round-off.
    """
    bodies, gravity = scene.get("bodies", {}), str(scene.get("gravity", ""))
    carried = {joint["child"] for joint in scene.get("joints", {}).values()} >= set(bodies)
    planar = any(body.get("kind") == "planar" for body in bodies.values())
    return carried and not planar and "m/s" not in gravity and not (IN_THE_WORLD | {"contacts"}) & set(scene)


def names() -> list[str]:
    """The scenes of the gallery that can be turned."""
    written = {path.stem: yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(GALLERY.glob("*.yaml"))}
    return [name for name, scene in written.items() if is_carried(scene)]


@pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")
@pytest.mark.parametrize("name", names())
def test_a_turned_scene_moves_alike(name):
    straight = yaml.safe_load(mbsim.load(GALLERY / f"{name}.yaml").text)
    straight.pop("expect", None)
    assert is_carried(straight)
    one, other = (mbsim.load(yaml.safe_dump(scene)).run() for scene in (straight, turned(straight)))
    channels = [channel for channel in map(str, one) if MEASURED.fullmatch(channel)]
    assert channels
    for channel in channels:
        wanted, found = one[channel].values, other[channel].values
        scale = max(1.0, float(np.abs(np.nan_to_num(wanted)).max()))
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=ALIKE.get(name, 1e-10) * scale, err_msg=channel)
