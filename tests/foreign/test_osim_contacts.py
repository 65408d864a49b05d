"""Contacts of OpenSim files are rigid contacts with friction of the same shapes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

pytestmark = pytest.mark.filterwarnings("ignore:.*imported")

MODEL = """<OpenSimDocument Version="40000"><Model name="m"><gravity>0 -10 0</gravity>
<BodySet name="bodyset"><objects><Body name="b"><mass>2</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="jointset"><objects><PlanarJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="angle"/><Coordinate name="x">
<default_speed_value>{speed}</default_speed_value></Coordinate><Coordinate name="y">
<default_value>{height}</default_value></Coordinate></coordinates></PlanarJoint></objects></JointSet>
<ContactGeometrySet name="contactgeometryset"><objects>
<ContactHalfSpace name="floor"><socket_frame>/ground</socket_frame><location>0 0.3 0</location>
<orientation>0 0 -1.5707963267948966</orientation></ContactHalfSpace>
{spheres}</objects></ContactGeometrySet>
<ForceSet name="forceset"><objects>{force}</objects></ForceSet></Model></OpenSimDocument>"""

SPHERE = (
    '<ContactSphere name="{}"><socket_frame>/bodyset/b</socket_frame><location>{} 0 0</location>'
    "<orientation>0 0 0</orientation><radius>0.1</radius></ContactSphere>"
)

HUNT_CROSSLEY = """<HuntCrossleyForce name="f"><HuntCrossleyForce::ContactParametersSet name="contact_parameters">
<objects><HuntCrossleyForce::ContactParameters><geometry>floor heel toe</geometry><stiffness>1e8</stiffness>
<dissipation>0.5</dissipation><static_friction>0.4</static_friction><dynamic_friction>0.4</dynamic_friction>
<viscous_friction>0.6</viscous_friction></HuntCrossleyForce::ContactParameters></objects>
</HuntCrossleyForce::ContactParametersSet><transition_velocity>0.1</transition_velocity></HuntCrossleyForce>"""

SMOOTH = """<SmoothSphereHalfSpaceForce name="{0}_force">
<socket_sphere>/contactgeometryset/{0}</socket_sphere><socket_half_space>/contactgeometryset/floor</socket_half_space>
<stiffness>3e6</stiffness><dissipation>2</dissipation><static_friction>0.4</static_friction>
<dynamic_friction>0.4</dynamic_friction><viscous_friction>0.5</viscous_friction>
<transition_velocity>0.2</transition_velocity></SmoothSphereHalfSpaceForce>"""

FORCES = {
    "Hunt and Crossley": HUNT_CROSSLEY,
    "foundation": HUNT_CROSSLEY.replace("HuntCrossleyForce", "ElasticFoundationForce"),
    "smooth": SMOOTH.format("heel") + SMOOTH.format("toe"),
}


def write(folder: Path, force: str, speed: float = 0.0, height: float = 0.4) -> Path:
    path = folder / "m.osim"
    spheres = SPHERE.format("heel", -0.2) + SPHERE.format("toe", 0.2)
    path.write_text(MODEL.format(force=force, speed=speed, height=height, spheres=spheres))
    return path


@pytest.mark.parametrize("name", FORCES)
def test_a_foot_slides_and_stops_on_the_floor(name: str, tmp_path: Path) -> None:
    """With a coefficient of 0.4 and 10 m/s^2, 1 m/s ends after 0.25 s and 0.125 m; then the foot stands."""
    path = write(tmp_path, FORCES[name], speed=1.0)
    result = mbsim.load(path, ["simulation.duration=0.5"]).run(check=False)
    position = result["bodies/position"].sel(body="b").values
    np.testing.assert_allclose(position[:, 1], 0.4, atol=1e-6)
    np.testing.assert_allclose(position[-1, 0], 0.125, atol=2e-3)
    np.testing.assert_allclose(result["bodies/linear_velocity"].sel(body="b").values[-1], 0.0, atol=1e-9)


def test_a_foot_that_begins_in_the_floor_is_moved_out_of_it(tmp_path: Path) -> None:
    """As compliant models stand in their floor."""
    path = write(tmp_path, HUNT_CROSSLEY, height=0.39)
    with pytest.warns(mbsim.SceneWarning, match=r"moved out of it: `b` by \[0, 0.01, 0\] m"):
        result = mbsim.load(path, ["simulation.duration=0.01"]).run(check=False)
    np.testing.assert_allclose(result["bodies/position"].sel(body="b").values[:, 1], 0.4, atol=1e-6)


def test_the_ledger_states_what_rigid_contacts_lack(tmp_path: Path) -> None:
    draft = read_model(write(tmp_path, HUNT_CROSSLEY), Options(), Problems())
    found = ImportReport(draft.ledger)
    (force,) = [entry for entry in found.entries if entry.fate == "approximated"]
    assert force.message == (
        "by rigid contacts with friction; bodies do not sink into each other; without dissipation and viscous friction"
    )
    assert not found.count("unknown")
    assert draft.settings["contacts"].value["pairs"] == [{"bodies": ["world", "b"], "friction": 0.4}]


def test_slip_has_the_smaller_coefficient(tmp_path: Path) -> None:
    force = HUNT_CROSSLEY.replace("<dynamic_friction>0.4", "<dynamic_friction>0.3")
    draft = read_model(write(tmp_path, force), Options(), Problems())
    assert draft.settings["contacts"].value["pairs"][0]["friction"] == {"static": 0.4, "kinetic": 0.3}


def test_an_unknown_geometry_is_a_message_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, HUNT_CROSSLEY.replace("floor heel toe", "floor heel to"))
    with pytest.raises(SceneError) as refused:
        read_model(path, Options(), Problems())
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: <", str(refused.value))
    assert "there is no geometry `to`; did you mean `toe`?" in str(refused.value)


def test_geometries_without_a_force_do_not_touch(tmp_path: Path) -> None:
    draft = read_model(write(tmp_path, ""), Options(), Problems())
    assert "contacts" not in draft.settings
    assert not draft.bodies["b"].shapes
