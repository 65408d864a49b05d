"""Measured forces of ExternalLoads act at their points, by splines through their tables; faults are messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mbsim
from multibody_cli.cli.app import main
from multibody_cli.errors import SceneError

LOADS = """<OpenSimDocument Version="30000"><ExternalLoads name="loads"><objects>
<ExternalForce name="foot"><isDisabled>false</isDisabled><applied_to_body>beam</applied_to_body>
<force_expressed_in_body> ground </force_expressed_in_body><point_expressed_in_body>ground</point_expressed_in_body>
<force_identifier>plate_v</force_identifier><point_identifier>plate_p</point_identifier>
<torque_identifier>plate_m</torque_identifier><data_source_name>Unassigned</data_source_name></ExternalForce>
</objects><datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"""

SCENE = """
mbsim: 1
include: [loads.xml]
gravity: [0, 0, 0]
bodies: {beam: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {weld: {type: revolute, axis: [0, 1, 0], child: beam, motion: {position: 0}}}
simulation: {duration: 0.4, step: 10 ms, integrator: rk4}
"""

TIMES = np.linspace(0.0, 0.4, 7)


def files(folder: Path, loads: str = LOADS) -> np.ndarray:
    """Write the files; return the rows of the table."""
    rows = np.column_stack([TIMES, np.random.default_rng(5).normal(size=(7, 9))])
    heads = ["time", *(f"plate_{vector}{axis}" for vector in "vpm" for axis in "xyz")]
    lines = ["\t".join(heads), *("\t".join(map(repr, row)) for row in rows.tolist())]
    header = f"grf\nversion=1\nnRows=7\nnColumns={len(heads)}\ninDegrees=no\nendheader\n"
    (folder / "grf.mot").write_text(header + "\n".join(lines) + "\n")
    (folder / "loads.xml").write_text(loads)
    (folder / "scene.yaml").write_text(SCENE)
    return rows


@pytest.mark.filterwarnings("ignore:.*imported")
@pytest.mark.filterwarnings("ignore:.*overshoot|.*leaves the range")
def test_the_moment_is_that_of_the_table(tmp_path: Path) -> None:
    """The beam does not move: the joint holds force, moment of the force and torque."""
    spline = CubicSpline(TIMES, files(tmp_path)[:, 1:], bc_type="natural")
    held = mbsim.load(tmp_path / "scene.yaml").run(check=False)["joints/weld/force"]
    force, point, torque = np.split(spline(held.coords["time"].values), 3, axis=1)
    np.testing.assert_allclose(held.values[:, 3:], -force, atol=1e-12)
    np.testing.assert_allclose(held.values[:, :3], -(np.cross(point, force) + torque), atol=1e-12)


def test_an_import_names_the_table_relative_to_the_scene(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "scenes").mkdir()
    target = tmp_path / "scenes" / "loads.yaml"
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["import", str(tmp_path / "loads.xml"), "-o", str(target), "--quiet"])
    assert '"../grf.mot"' in target.read_text()


FAULTS = {
    "no table": ("<datafile>grf.mot</datafile>", "", r"expected a table in <datafile>"),
    "no body": ("<applied_to_body>beam<", "<applied_to_body>ground<", r"expected a body that moves"),
    "other columns": ("plate_v", "plate_f", r"no column `plate_fx`; the columns are `time`"),
    "neither": (
        "<force_identifier>plate_v</force_identifier><point_identifier>plate_p</point_identifier>\n"
        "<torque_identifier>plate_m</torque_identifier>",
        "",
        r"expected a <force_identifier> or a <torque_identifier>",
    ),
    "another frame": (" ground ", "thigh", r"expected force and point in the frame of the ground or of `beam`"),
}


@pytest.mark.filterwarnings("ignore:.*imported|.*leaves the range")
@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, tmp_path: Path) -> None:
    old, new, message = FAULTS[name]
    assert old in LOADS
    files(tmp_path, LOADS.replace(old, new))
    with pytest.raises(SceneError, match=message) as refused:
        mbsim.load(tmp_path / "scene.yaml")
    assert "loads.xml:" in str(refused.value)
