"""Fields of joints along curves, on surfaces and by expressions: counts, units, defaults and consistency."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from shapes import (
    BEZIER,
    CAM,
    CONTROLS,
    CURVES,
    FRAMES,
    KNOT,
    PATCH,
    QUINTIC,
    SPHERE,
    SURFACES,
    TORUS,
    columns_at,
    joint,
    parts_of,
    pose_at,
)

from multibody_cli.joints.contract import Coordinate, PartCode
from multibody_cli.joints.surface_surface import COORDINATE_NAMES

ANGLE, LENGTH, NUMBER = Coordinate.ANGLE, Coordinate.LENGTH, Coordinate.NUMBER
WITHIN = {**SPHERE, "inside": True}
ON_PATCH = {"parent_surface": PATCH, "child_surface": SPHERE}
BEAD = {"coordinates": ["s"], "translation": ["s", 0, 0]}
CUSP = {"type": "expression", "domain": [-1, 1], "position": ["s**2", "s**3", 0]}
CUBIC = ["s**2*(1 - s)**2", "s*(1 - s)*(1 - 2*s)", 0]
RAGGED = {"type": "bezier", "points": [[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0], [1, 2, 0]]]}


def test_a_free_orientation_adds_a_rotation():
    alone = joint("curve", curve=BEZIER, orientation="free", q=0.3, v=2)
    assert alone.coordinates == (NUMBER, ANGLE, ANGLE, ANGLE)
    assert alone.q == (0.3, 0.0, 0.0, 0.0)
    assert alone.v == (2.0, 0.0, 0.0, 0.0)
    whole = joint("curve", curve=BEZIER, orientation="free", q=[0.3, "90 deg", 0, 0])
    assert whole.q == pytest.approx((0.3, math.pi / 2, 0, 0))
    assert [part.code for part in parts_of(whole)] == [PartCode.GENERATED, PartCode.BALL]


@pytest.mark.parametrize(
    ("name", "kind"), [("helix", ANGLE), ("circle", ANGLE), ("cycloid", ANGLE), ("bezier", NUMBER)]
)
def test_the_parameter_of_a_curve_has_its_unit(name, kind):
    curve = joint("curve", curve=CURVES[name][0], q=1)
    assert curve.coordinates == (kind,)


def test_spin_is_fixed_unless_five_entries_are_given():
    surfaces = {"parent_surface": TORUS, "child_surface": SPHERE}
    assert len(joint("surface_surface", **surfaces).coordinates) == 4
    assert len(joint("surface_surface", **surfaces, q=[0, 0, 0, 0]).coordinates) == 4
    assert len(joint("surface_surface", **surfaces, q=[0, 0, 0, 0, 0]).coordinates) == 5
    assert len(joint("surface_surface", **surfaces, v=[0, 0, 0, 0, 0]).coordinates) == 5
    assert len(joint("surface_surface", **surfaces, fixed={}).coordinates) == 5
    assert len(joint("surface_surface", **surfaces, fixed={"u1": "90 deg", "spin": 0}).coordinates) == 3


def test_parameters_of_surfaces_have_their_units():
    kinds = joint(
        "surface_surface", parent_surface={"type": "cylinder", "radius": 1}, child_surface={"type": "plane"}
    ).coordinates
    assert kinds == (ANGLE, LENGTH, LENGTH, LENGTH)
    assert joint("surface_surface", parent_surface=PATCH, child_surface=SPHERE).coordinates[:2] == (NUMBER, NUMBER)


def test_joints_of_one_shape_share_their_code():
    small = {**TORUS, "major_radius": 0.7, "minor_radius": 0.1}
    one = parts_of(joint("surface_surface", parent_surface=TORUS, child_surface=SPHERE))[0]
    other = parts_of(joint("surface_surface", parent_surface=small, child_surface=SPHERE))[0]
    assert one.joint_map == other.joint_map
    assert one.constants != other.constants
    inside = {**TORUS, "inside": True}
    assert parts_of(joint("surface_surface", parent_surface=inside, child_surface=SPHERE))[0].joint_map != one.joint_map


def test_units_of_symbolic_coordinates():
    assert joint("symbolic", **{**CAM, "coordinates": {"theta": "rad", "s": "m"}}).coordinates == (ANGLE, LENGTH)
    assert joint("symbolic", **CAM).coordinates == (NUMBER, NUMBER)
    assert joint("symbolic", **CAM, q=["30 deg", 0]).q[0] == pytest.approx(math.pi / 6)


def test_a_constant_may_have_the_name_of_a_number():
    part = parts_of(joint("symbolic", coordinates=["s"], parameters={"e": 0.02}, translation=["e*s", 0, 0]))[0]
    assert part.constants == (0.02,)


@pytest.mark.parametrize(
    ("frames", "closed", "domain"), [(4, False, (0, 1)), (5, False, (0, 2)), (5, True, (-math.inf, math.inf))]
)
def test_domains_of_splines(frames, closed, domain):
    assert joint("spline_curve", frames=FRAMES[:frames], closed=closed).own_domains == (domain,)


def test_domains_of_a_spline_surface():
    assert joint("spline_surface", controls=CONTROLS).own_domains == ((0, 2), (0, 1))


def test_the_domain_and_the_limits_of_a_joint_combine():
    curve = {"curve": BEZIER, "q": 0.3}
    assert joint("curve", **curve).bounds is None
    assert joint("curve", **curve).domains == ((0, 1),)
    assert joint("curve", **curve, ends="limit").bounds == ((0, 1),)
    assert joint("curve", **curve, ends="limit", limits=[0.2, 0.4]).bounds == ((0.2, 0.4),)
    assert joint("curve", **curve, ends="limit", limits=[-5, 5]).bounds == ((0, 1),)
    assert joint("curve", **curve, ends="limit", limits=[0.1, None]).bounds == ((0.1, 1),)
    assert joint("curve", **curve, ends="extend", limits=[-5, 5]).bounds == ((-5, 5),)
    grid = {"controls": CONTROLS, "ends": "limit"}
    assert joint("spline_surface", **grid, limits=[None, [0.5, 3]], q=[1, 0.5]).bounds == ((0, 2), (0.5, 1))
    assert joint("curve", **curve, ends="extend").domains == ((-math.inf, math.inf),)
    assert joint("curve", curve=CURVES["helix"][0]).bounds is None


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("curve", {"curve": CURVES["helix"][0], "ends": "limit"}, "domain of this joint is unbounded"),
        ("curve", {"curve": BEZIER, "ends": "limit", "motion": {"velocity": 1}}, "whose `motion` is prescribed"),
        ("curve", {"curve": BEZIER, "up": [1, 0, 0]}, "no effect with `orientation: fixed`"),
        ("curve", {"curve": BEZIER, "ends": "limit", "limits": [1, 2], "q": 1}, "no common interval with the domain"),
        ("curve", {"curve": {**KNOT, "domain": [0, 6.0]}}, "differ between both ends"),
        ("curve", {"curve": {**QUINTIC, "position": CUBIC}}, "second derivative differ between both ends"),
        ("curve", {"curve": QUINTIC, "orientation": "frenet"}, "third derivative differs between both ends"),
        ("curve", {"curve": CUSP, "orientation": "tangent"}, "has no tangent at 0: "),
        ("curve", {"curve": {**CUSP, "position": ["s", "sqrt(s)", 0]}, "orientation": "tangent"}, "no tangent at -1: "),
        (
            "curve",
            {"curve": {"type": "bezier", "points": [[1, 2, 3]] * 2}, "orientation": "tangent"},
            "no tangent at 0",
        ),
        ("curve", {"curve": {**KNOT, "parameters": {"a": 1, "e": 2, "k": 3}}}, "no effect: no expression uses it"),
        ("surface_surface", {**ON_PATCH, "fixed": {"u1": 3}}, "outside of the domain of its surface, from 0 to 1"),
        ("surface_surface", {**ON_PATCH, "fixed": {"u2": "3 kg"}}, "expected an angle .*is a mass"),
        ("symbolic", {"coordinates": ["s"]}, "expected `translation` or `rotation`"),
        ("symbolic", {"coordinates": ["s", "r"], "translation": ["s", 0, 0]}, "`r` has no effect"),
        ("symbolic", {**BEAD, "parameters": {"a": 1}}, "no effect: no expression uses it"),
        ("symbolic", {**BEAD, "coordinates": ["lambda"]}, "`lambda` is reserved in expressions"),
        ("symbolic", {**BEAD, "translation": ["s", "s*1e308*1e308", 0]}, "overflow in the arithmetic"),
        ("symbolic", {**BEAD, "translation": ["s", "s*1e200*(s*1e200)", 0]}, "overflow in the arithmetic"),
        ("symbolic", {**BEAD, "translation": ["s", "s/1e-320", 0]}, "overflow in the arithmetic"),
        ("symbolic", {**BEAD, "translation": ["s", "(-8)**(1/3)", 0]}, "write an odd root of a negative number as -8"),
        ("symbolic", {**BEAD, "translation": ["s", "(-8)**n", 0], "parameters": {"n": 0.5}}, "not a real number"),
        ("curve", {"curve": {**KNOT, "position": ["abs(s)", "0", "0"]}}, "not twice differentiable"),
        ("surface_surface", {"parent_surface": WITHIN, "child_surface": WITHIN}, "within"),
        ("symbolic", {"coordinates": ["s", "s"]}, "differ"),
        ("symbolic", {"coordinates": {"s": "kg"}}, "unknown unit"),
        ("symbolic", {"coordinates": []}, "1 to 6 names"),
        ("curve", {"curve": {"type": "expression", "position": ["s", "0", "0"], "domain": [1, 0]}}, "beginning"),
        ("curve", {"curve": {"type": "expression", "position": ["s", "0", "0"], "closed": True}}, "domain"),
        ("surface_surface", {"parent_surface": RAGGED, "child_surface": SPHERE}, "as in the first row"),
        ("spline_surface", {"controls": {}}, "at least one of"),
        ("curve", {"curve": BEZIER, "orientation": "free", "limits": [None, [0, 1], None, None]}, "of their own"),
    ],
)
def test_incompatible_fields_are_refused(kind, fields, message):
    with pytest.raises(ValidationError, match=message):
        joint(kind, **fields)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("still", [("u1",), ("v1",), ("u1", "v1"), ("u2",), ("v2", "spin"), ("u2", "v2")])
def test_a_joint_with_fixed_coordinates_is_the_constrained_free_joint(name, still):
    all_values = dict(zip(COORDINATE_NAMES, (*SURFACES[name][1], *SURFACES[name][1], 0.4), strict=True))
    surfaces = {"parent_surface": SURFACES[name][0], "child_surface": SURFACES[name][0]}
    moving = [k for k, word in enumerate(COORDINATE_NAMES) if word not in still]
    q = np.array(list(all_values.values()))
    free = parts_of(joint("surface_surface", **surfaces, q=q.tolist()))
    constrained = parts_of(
        joint("surface_surface", **surfaces, q=q[moving].tolist(), fixed={word: all_values[word] for word in still})
    )
    for found, wanted in zip(pose_at(constrained, q[moving]), pose_at(free, q), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)
    np.testing.assert_allclose(columns_at(constrained, q[moving]), columns_at(free, q)[:, moving], rtol=0, atol=1e-13)


def test_a_half_turn_between_last_and_first_frame_is_refused():
    frames = [{"rotation": {"axis": [0, 0, 1], "angle": f"{angle} deg"}} for angle in (0, 60, 120, 180)]
    assert joint("spline_curve", frames=frames).count == 1
    with pytest.raises(ValidationError, match="half a turn away from the last frame"):
        joint("spline_curve", frames=frames, closed=True)


def test_joints_with_other_exponents_have_other_formulas():
    """The derivatives of s**1 and s**2 are right at 0, where those of any power are not."""
    shapes = set()
    for n, slope in ((1, 3.0), (2, 0.0), (3, 0.0)):
        fields = {"coordinates": ["s"], "parameters": {"a": 3, "n": n}, "translation": ["s", "a*s**n", 0]}
        parts = parts_of(joint("symbolic", **fields))
        np.testing.assert_array_equal(columns_at(parts, np.zeros(1))[:, 0], [0, 0, 0, 1, slope, 0])
        assert parts[0].constants == (3.0,)
        shapes.add(parts[0].joint_map)
    assert len(shapes) == 3


@pytest.mark.parametrize("end", [1.0, -1.0])
@pytest.mark.parametrize(
    "curve",
    [
        {"type": "bezier", "points": [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]]},
        {"type": "bezier", "points": [[0, 0, 0], [0, 0, 1], [0, 0.5, 2], [1, 0, 3]]},
        {"type": "expression", "parameter": "s", "domain": [0, 2], "position": ["s**3", 0, "s"]},
    ],
)
def test_z_of_a_body_points_along_x_where_its_curve_starts_along_z(curve, end):
    """No direction across the tangent is nearest to z there, and none may follow from round-off."""
    if curve["type"] == "bezier":
        curve = curve | {"points": [[x, y, end * z] for x, y, z in curve["points"]]}
    else:
        curve = curve | {"position": [*curve["position"][:2], f"{end}*s"]}
    along = joint("curve", curve=curve, orientation="rotation_minimizing")
    turned = pose_at(parts_of(along), np.zeros(1))[0]
    assert turned[:, 2] == pytest.approx([1, 0, 0], abs=1e-14)
    assert turned[:, 0] == pytest.approx([0, 0, end], abs=1e-14)
