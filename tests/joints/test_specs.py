"""Fields of joints: units by kind of coordinate, counts, and parts that match the coordinates."""

import math

import pytest
from pydantic import ValidationError
from shape_oracle import FIELDS_OF_SHAPES

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Coordinate, PartCode
from multibody_cli.joints.spec import CoordinateJointSpec, MovingJointSpec
from multibody_cli.joints.spherical import PARAMETRIZATIONS

EXTRA = {
    "screw": {"pitch": "2 mm"},
    "composite": {"parts": [{"type": "prismatic"}, {"type": "screw", "pitch": 0.1}, {"type": "revolute"}]},
} | FIELDS_OF_SHAPES


def spec(name, **fields):
    return JOINTS[name].spec.model_validate({"type": name, "child": "arm", **EXTRA.get(name, {}), **fields})


@pytest.mark.parametrize("name", sorted(JOINTS))
def test_parts_have_the_coordinates_that_the_spec_says(name):
    joint = spec(name)
    parts = JOINTS[name].parts(joint)
    assert tuple(kind for part in parts for kind in part.coordinates) == joint.coordinates


@pytest.mark.parametrize("name", sorted(JOINTS))
def test_one_entry_for_each_coordinate(name):
    joint = spec(name)
    count = len(joint.coordinates)
    if isinstance(joint, CoordinateJointSpec):
        assert joint.q == joint.v == joint.rest == (0.0,) * count
    if isinstance(joint, MovingJointSpec):
        alike = spec(name, stiffness=2, damping=3, force=[1] * count)
        assert alike.stiffness == (2.0,) * count
        assert alike.damping == (3.0,) * count
        assert [signal.constant for signal in alike.force] == [1] * count
        moved = spec(name, motion={"velocity": [1] + [None] * (count - 1)})
        assert len(moved.motion.signals) == count


def test_a_force_acts_beside_a_prescribed_coordinate():
    joint = spec("planar", motion={"velocity": [1, None]}, force=[0, 2])
    assert joint.force[1].constant == 2


@pytest.mark.parametrize("name", sorted(JOINTS))
def test_plain_coordinates_are_numbers_of_q_with_their_rates_for_velocities(name):
    """They stand before the quaternion, so that their index in q is that of the coordinate."""
    for fields in [{}] if name != "spherical" else [{"parametrization": word} for word in PARAMETRIZATIONS]:
        if fields.get("parametrization", "").startswith("euler"):
            fields["q"] = {"euler": [0, 1, 0], "order": fields["parametrization"][-3:].upper()}
        joint = spec(name, **fields)
        parts = JOINTS[name].parts(joint)
        plain = tuple(
            part.code != PartCode.EXPONENTIAL and k < part.nv - 3 * (part.nq - part.nv)
            for part in parts
            for k in range(part.nv)
        )
        assert joint.plain == plain
        assert all(part.nq == part.nv for part in parts[:-1])


def test_limits():
    assert spec("revolute").limits is None
    assert spec("revolute", limits=["-90 deg", "1 turn"]).limits == ((-math.pi / 2, math.tau),)
    assert spec("prismatic", limits=[None, "1 mm"]).limits == ((-math.inf, 1e-3),)
    assert spec("prismatic", limits=[[0, math.inf]]).limits == ((0, math.inf),)
    assert spec("free2d", limits=[None, [-math.inf, 2], ["0 deg", "180 deg"]]).limits == (
        None,
        (-math.inf, 2),
        (0, math.pi),
    )
    assert spec("planar", limits=[None, [0, 1]], motion={"velocity": [1, None]}).limits[1] == (0, 1)


def test_units_by_coordinate():
    joint = spec("free2d", q=["1 mm", 2, "90 deg"], v=["1 mm/s", 0, "1 rpm"], stiffness=["1 N/mm", 0, "2 N*m/rad"])
    assert joint.q == pytest.approx((1e-3, 2, math.pi / 2))
    assert joint.v == pytest.approx((1e-3, 0, math.tau / 60))
    assert joint.stiffness == pytest.approx((1000, 0, 2))


def test_composite_reads_units_by_its_parts():
    joint = spec("composite", q=["1 mm", "90 deg", "180 deg"])
    assert joint.coordinates == (Coordinate.LENGTH, Coordinate.ANGLE, Coordinate.ANGLE)
    assert JOINTS["composite"].start(joint).q == pytest.approx((1e-3, math.pi / 2, math.pi))


def test_pitch_is_travel_for_a_turn():
    part = JOINTS["screw"].parts(spec("screw", axis=[0, 0, 2]))[0]
    assert part.turn == (0, 0, 1)
    assert math.tau * part.slide[2] == pytest.approx(2e-3)


def test_state_of_spherical_and_free():
    ball = spec("spherical", q={"axis": [0, 0, 1], "angle": "180 deg"}, v=[0, 0, "1 turn/s"])
    assert ball.q == pytest.approx((0, 0, 0, 1), abs=1e-15)
    assert ball.v == pytest.approx((0, 0, math.tau))
    free = spec("free", q={"position": [0, 0, "1 m"]}, v={"linear": [1, 0, 0]})
    assert free.q.position == (0, 0, 1)
    assert free.v.linear == (1, 0, 0)


def test_signals():
    joint = spec("planar", force=["2 N", {"times": [0, "1 s"], "values": ["1 kN", 0], "interpolation": "cubic"}])
    assert joint.force[0].constant == 2
    assert joint.force[1].times == (0, 1)
    assert joint.force[1].values == (1000, 0)
    assert joint.force[1].interpolation == "cubic"
    assert spec("prismatic", force="2*t").force[0].expression.evaluate({"t": 3}) == 6


def test_motion():
    motion = spec("universal", motion={"acceleration": [None, "sin(t)"]}).motion
    assert motion.given == "acceleration"
    assert motion.signals[0] is None
    assert motion.signals[1].expression.text == "sin(t)"


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("universal", {"motion": {"position": [None, None]}}, "at least one coordinate"),
        ("free", {"motion": {"position": [0, 0, 0, 0, 0, 0]}}, "use `velocity` or `acceleration`"),
        ("revolute", {"stiffness": "1 N/m"}, "expected an angular stiffness"),
        ("revolute", {"force": {"times": [0, 1], "values": ["1 N", 0]}}, "expected a torque"),
        (
            "planar",
            {"motion": {"velocity": [1, None]}, "force": [2, 0]},
            "`force` has no effect on a coordinate",
        ),
        ("fixed", {"q": 0}, "Extra inputs"),
    ],
)
def test_refusals(name, fields, message):
    with pytest.raises(ValueError, match=message):
        spec(name, **fields)


@pytest.mark.parametrize("up", [[0, 1, 0], [0, -2, 0]])
def test_up_along_the_tangent_at_the_start_of_curves_that_touch_is_refused(up):
    """Both circles start at x, with the tangent y, so that any direction across it would be as near."""
    circle = {"type": "circle", "radius": 1.0}
    touching = {"type": "curve_curve", "child": "b", "parent_curve": circle, "child_curve": circle}
    kind = JOINTS["curve_curve"].spec
    kind.model_validate(touching | {"up": [0, 1, 1]})
    with pytest.raises(ValidationError, match="along the tangent of `parent_curve` at its start"):
        kind.model_validate(touching | {"up": up})
    alone = {"type": "curve", "child": "b", "curve": circle, "orientation": "tangent"}
    JOINTS["curve"].spec.model_validate(alone | {"up": [0, 1, 1]})
    with pytest.raises(ValidationError, match="along the tangent of the curve at its start"):
        JOINTS["curve"].spec.model_validate(alone | {"up": up})
