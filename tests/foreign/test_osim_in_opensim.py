"""Mass matrices, biases, momenta and energies of models of OpenSim agree with those of OpenSim itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import ImportCheck, check_import
from multibody_cli.studies.simulation import prepare

pytest.importorskip("opensim")

LEG = Path(__file__).with_name("leg.osim")


def compared(path: Path) -> ImportCheck:
    draft = read_model(path, Options(), Problems())
    engine = ENGINES["osim"].read(path)
    return check_import(prepare(ReadScene(path, draft.tree(engine.leaves_out), Usage())), draft, engine)


def test_joints_couplings_springs_and_limits() -> None:
    found = compared(LEG)
    assert {one.name for one in found.joints} >= {"pelvis_tilt", "hip_adduction", "knee_angle", "glide", "mtp_angle"}
    assert not found.absent
    assert max(found.differences.values()) < 1e-13, found.differences


@pytest.mark.parametrize("kind", ["WeldJoint", "PinJoint", "SliderJoint", "GimbalJoint", "FreeJoint"])
def test_each_type_of_joint(kind: str, tmp_path: Path) -> None:
    """Between a body and another one that the first joint, which is free, carries."""
    body = "<mass>1</mass><mass_center>0.1 0.2 0</mass_center><inertia>1 1.2 1.4 0.1 0 0</inertia>"
    counts = {"WeldJoint": 0, "PinJoint": 1, "SliderJoint": 1, "GimbalJoint": 3, "FreeJoint": 6}

    def joint(name: str, type_: str, parent: str, child: str) -> str:
        coordinates = "".join(f'<Coordinate name="{name}_{k}"/>' for k in range(counts[type_]))
        ends = f"<socket_parent_frame>{parent}</socket_parent_frame><socket_child_frame>{child}</socket_child_frame>"
        return f'<{type_} name="{name}">{ends}<coordinates>{coordinates}</coordinates></{type_}>'

    first = joint("base", "FreeJoint", "/ground", "/bodyset/a")
    second = "" if kind == "FreeJoint" else joint("inner", kind, "/bodyset/a/place", "/bodyset/b")
    place = (
        '<components><PhysicalOffsetFrame name="place"><socket_parent>..</socket_parent>'
        "<translation>0.3 0.1 0</translation><orientation>0.4 1.5707963267948966 0.2</orientation>"
        "</PhysicalOffsetFrame></components>"
    )
    bodies = f'<Body name="a">{body}{place}</Body>' + ("" if kind == "FreeJoint" else f'<Body name="b">{body}</Body>')
    path = tmp_path / "m.osim"
    path.write_text(
        '<OpenSimDocument Version="40000"><Model name="m">'
        f'<BodySet name="bodyset"><objects>{bodies}</objects></BodySet>'
        f'<JointSet name="jointset"><objects>{first}{second}</objects></JointSet></Model></OpenSimDocument>'
    )
    found = compared(path)
    assert not found.absent
    assert len(found.joints) == 1 + (counts[kind] if second else 0)
    assert max(found.differences.values()) < 1e-12, found.differences
