"""Measured forces of ExternalLoads agree with those of OpenSim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.compile import compile_scene
from multibody_cli.scene.load import load_scene
from multibody_cli.studies.equations_of_motion import EquationsOfMotion

opensim = pytest.importorskip("opensim")
pytestmark = pytest.mark.filterwarnings("ignore:.*imported")

MODEL = """<OpenSimDocument Version="40000"><Model name="m">
<BodySet name="bodyset"><objects>{bodies}</objects></BodySet>
<JointSet name="jointset"><objects>{joints}</objects></JointSet></Model></OpenSimDocument>"""

BODY = (
    '<Body name="{}"><mass>1</mass><mass_center>0.1 0.2 0</mass_center><inertia>1 1.2 1.4 0.1 0 0</inertia>'
    '<components><PhysicalOffsetFrame name="place"><socket_parent>..</socket_parent>'
    "<translation>0.3 0.1 0</translation><orientation>0.4 1.2 0.2</orientation></PhysicalOffsetFrame></components>"
    "</Body>"
)

JOINT = (
    '<PinJoint name="{0}"><socket_parent_frame>{1}</socket_parent_frame>'
    '<socket_child_frame>/bodyset/{0}/place</socket_child_frame><coordinates><Coordinate name="q{0}"/></coordinates>'
    "</PinJoint>"
)

FORCE = """<ExternalForce name="{name}"><isDisabled>false</isDisabled><applied_to_body>{body}</applied_to_body>
<force_expressed_in_body>{axes}</force_expressed_in_body><point_expressed_in_body>{place}</point_expressed_in_body>
<force_identifier>{force}</force_identifier><point_identifier>{point}</point_identifier>
<torque_identifier>{torque}</torque_identifier><data_source_name>Unassigned</data_source_name></ExternalForce>"""

LOADS = """<OpenSimDocument Version="30000"><ExternalLoads name="loads"><objects>{forces}</objects>
<datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"""

CASES = {
    "in the world": [{"axes": "ground", "place": "ground", "force": "f", "point": "p", "torque": "m"}],
    "at a point of the body": [{"axes": "ground", "place": "foot", "force": "f", "point": "p", "torque": ""}],
    "in axes of the body": [{"axes": "foot", "place": "ground", "force": "f", "point": "p", "torque": "m"}],
    "at the origin": [{"axes": "ground", "place": "ground", "force": "f", "point": "", "torque": ""}],
    "a torque": [{"axes": "foot", "place": "ground", "force": "", "point": "", "torque": "m"}],
}


@pytest.mark.parametrize("name", CASES)
def test_forces_by_tables(name: str, tmp_path: Path) -> None:
    """At rows of the table and between them, for a body that other bodies carry."""
    opensim.Logger.setLevelString("off")
    random = np.random.default_rng(3)
    bodies = "".join(BODY.format(body) for body in ("shank", "foot"))
    joints = JOINT.format("shank", "/ground") + JOINT.format("foot", "/bodyset/shank")
    (tmp_path / "m.osim").write_text(MODEL.format(bodies=bodies, joints=joints))
    forces = "".join(FORCE.format(name=f"e{k}", body="foot", **case) for k, case in enumerate(CASES[name]))
    (tmp_path / "loads.xml").write_text(LOADS.format(forces=forces))
    heads = ["time", *(f"{vector}{axis}" for vector in "fpm" for axis in "xyz")]
    rows = np.column_stack([np.linspace(0.0, 0.4, 9), random.normal(size=(9, 9))])
    lines = ["\t".join(heads), *("\t".join(f"{value!r}" for value in row) for row in rows.tolist())]
    header = f"grf\nversion=1\nnRows={len(rows)}\nnColumns={len(heads)}\ninDegrees=no\nendheader\n"
    (tmp_path / "grf.mot").write_text(header + "\n".join(lines) + "\n")
    scene = tmp_path / "scene.yaml"
    scene.write_text("mbsim: 1\ninclude: [m.osim, loads.xml]\nsimulation: {duration: 0.1}\n")
    compiled = compile_scene(load_scene(str(scene)))
    equations, state = EquationsOfMotion(compiled.model), compiled.state
    own = opensim.Model(str(tmp_path / "m.osim"))
    own.addModelComponent(opensim.ExternalLoads(str(tmp_path / "loads.xml"), True))
    theirs = own.initSystem()
    solver = opensim.InverseDynamicsSolver(own)
    for time in (0.0, 0.05, 0.123, 0.371, 0.4):
        q, v = random.normal(size=(2, 2))
        state.time[0], state.q[:], state.v[:] = time, q, v
        theirs.setTime(time)
        for k, coordinate in enumerate(map(own.updCoordinateSet().get, range(2))):
            coordinate.setValue(theirs, float(q[k]), False)
            coordinate.setSpeedValue(theirs, float(v[k]))
        own.realizeDynamics(theirs)
        expected = solver.solve(theirs, opensim.Vector(2, 0.0))
        found = equations.inverse_dynamics(state, np.zeros(2))
        np.testing.assert_allclose(found, [expected.get(k) for k in range(2)], rtol=0, atol=1e-12, err_msg=f"{time}")
