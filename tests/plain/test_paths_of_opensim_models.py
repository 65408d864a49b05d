"""Paths of OpenSim models whose lengths OpenSim 4.6 does not have: independent geodesics, and the faults of its paths.

Points and surfaces are those of its models at one pose, in the frame of the first surface; P, Q and `arc` are tangent
points and length of the arc that OpenSim computes there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from force_scenes import INERTIA
from geodesics import Floats, quadric, shortest
from loops import loaded
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from multibody_cli.cables.lines import measure
from multibody_cli.compile import compile_scene
from multibody_cli.tree.workspace import workspace_for

ORIGIN = (0.0, 0.0, 0.0)


class Arc(NamedTuple):
    """A surface, with the pose of its frame, and the arc over it that OpenSim computes."""

    kind: str
    radii: tuple[float, ...]  # of a cylinder: its radius and its length
    P: tuple[float, float, float]
    Q: tuple[float, float, float]
    arc: float
    side: tuple[float, float, float] | None = None
    centre: tuple[float, float, float] = ORIGIN
    turn: tuple[float, float, float] = ORIGIN

    def entry(self) -> dict[str, Any]:
        """The entry of a path."""
        angle = float(np.linalg.norm(self.turn))
        sizes = (
            {"radii": list(self.radii)}
            if self.kind == "ellipsoid"
            else dict(zip(("radius", "length"), self.radii, strict=True))
        )
        pose: dict[str, Any] = {"position": list(self.centre)}
        if angle:
            pose["rotation"] = {"axis": list(self.turn), "angle": angle}
        side = {} if self.side is None else {"side": list(self.side), "only_cut": self.kind == "ellipsoid"}
        return {"wrap": {"type": self.kind, "body": "c", **sizes, **pose}, **side}

    def local(self, point: Any) -> Floats:
        """A point in the frame of the surface."""
        return Rotation.from_rotvec(self.turn).inv().apply(np.subtract(point, self.centre))

    @property
    def weights(self) -> Floats:
        """Factors of the squares of coordinates in the equation of the surface."""
        radii = self.radii if self.kind == "ellipsoid" else (self.radii[0], self.radii[0], np.inf)
        return np.array(radii) ** -2.0

    def kinks(self, a: Any, b: Any) -> tuple[float, float]:
        """Angles by which OpenSim's path turns at P and Q of a cylinder where its arc is a helix between them, rad."""
        p, q, a, b = (self.local(x) for x in (self.P, self.Q, a, b))
        turn = np.arctan2(p[0] * q[1] - p[1] * q[0], p[:2] @ q[:2])
        slope = (q[2] - p[2]) / abs(self.radii[0] * turn)

        def direction(x: Floats) -> Floats:
            along = np.sign(turn) * np.array([-x[1], x[0], 0.0]) / self.radii[0]
            return (along + np.array([0.0, 0.0, slope])) / np.hypot(1.0, slope)

        lines = ((p - a) / np.linalg.norm(p - a), (b - q) / np.linalg.norm(b - q))
        return tuple(float(np.arccos(line @ direction(x))) for line, x in zip(lines, (p, q), strict=True))


class Case(NamedTuple):
    """A part of a path from a to b over surfaces."""

    a: tuple[float, float, float]
    b: tuple[float, float, float]
    arcs: tuple[Arc, ...]

    @property
    def opensim(self) -> float:
        """Its length in OpenSim, m."""
        stops = [self.a, *(x for arc in self.arcs for x in (arc.P, arc.Q)), self.b]
        lines = sum(float(np.linalg.norm(np.subtract(q, p))) for p, q in zip(stops[::2], stops[1::2], strict=True))
        return lines + sum(arc.arc for arc in self.arcs)


TRI, BICEPS = (0.016, 0.05), (0.025, 0.02, 0.02)
FRONT = (0.0, -1.0, 0.0)
CASES = {
    "arm26 BRA": Case(
        (0.0220399351262, 0.114350455284, 0.0197257353746),
        (-0.0032751297863, -0.0213015136883, -0.0075854491936),
        (
            Arc(
                "cylinder", TRI,
                (0.0159778900393, -0.0008408506961, -0.0029447318374),
                (0.0087897753361, -0.0133693623461, -0.0056309455557), 0.0152247622884,
            ),
        ),
    ),
    "Rajagopal addlong_r": Case(
        (0.0390171948655, -0.126445951256, -0.210111036233),
        (-0.0202652909874, 0.0022295185773, 0.0044399189283),
        (
            Arc(
                "cylinder", (0.0201, 0.1),
                (-0.018083366023, -0.0087750711266, -0.0101671684106),
                (-0.0200655224392, -0.0011767791809, 0.0005347295846), 0.0133039188391,
            ),
        ),
    ),
    "Rajagopal addmagIsch_r": Case(
        (-0.151621332631, -0.0776208789702, -0.279534882105),
        (0.0313444308757, -0.0277265287786, 0.0012936301925),
        (
            Arc(
                "cylinder", (0.04, 0.24),
                (0.0093568214595, -0.0388902287493, -0.03141779743),
                (0.0208494004689, -0.0341365273584, -0.0141031135432), 0.0213480148084,
            ),
        ),
    ),
    "arm26 TRIlong": Case(
        (0.0033906045668, 0.0061315211705, 0.0119510281486),
        (-0.0702827075702, -0.100506922602, -0.0743460926244),
        (
            Arc(
                "cylinder", (0.003, 0.03),
                (0.0029941124905, -0.000187857377, 0.0065885713752),
                (0.0006186215962, -0.0029355250503, 0.0034345608036), 0.00502756179124, (1.0, 0.0, 0.0),
            ),
            Arc(
                "ellipsoid", (0.035, 0.02, 0.02),
                (-0.0128365312481, -0.0057710137575, -0.0083497109486),
                (-0.0161054716988, -0.0096366991778, -0.0122751967406), 0.00840880422517, (0.0, 0.0, 1.0),
                (-0.0145433288011, -0.0385954008912, 0.0006863965643),
                (0.899009887955, -1.08121590649, -1.29955479203),
            ),
        ),
    ),
    "Rajagopal gasmed_r": Case(
        (0.003, 0.0312, -0.0208),
        (-0.05937046, -0.4053752, 0.00135474),
        (
            Arc(
                "cylinder", (0.025, 0.1),
                (-0.0131018131062, 0.0212918410038, -0.0208057114442),
                (-0.0207109608459, 0.014002003458, -0.0208091657851), 0.0104284922848,
            ),
            Arc(
                "cylinder", (0.055, 0.1),
                (-0.0534623088458, -0.0344419130222, -0.0208289775909),
                (-0.0669863116673, -0.0721313936084, -0.0193322515871), 0.0349298260873, FRONT,
                (-0.01240046, -0.0684252, -0.00456526),
                (2.20780010635, 2.01706324048, -0.145145657055),
            ),
        ),
    ),
    "arm26 BIClong": Case(
        (0.0098696286258, -0.002257582105, 0.0221879236034),
        (-0.0031765727154, -0.0194230941897, -0.012231524757),
        (
            Arc(
                "ellipsoid", BICEPS,
                (0.0073036383665, -0.0122335338409, 0.0147037254592),
                (0.0012447298795, -0.019936049914, -0.0012519997023), 0.0194357900486, FRONT,
            ),
        ),
    ),
    "arm26 BIClong extended": Case(
        (0.0054263946584, 0.0190679993278, 0.023400301292),
        (-0.0031765727154, -0.0194230941897, -0.012231524757),
        (
            Arc(
                "ellipsoid", BICEPS,
                (0.0028662183703, -0.003537135624, 0.0195507663454),
                (-0.0015501691903, -0.0199466840141, -0.0007704238007), 0.0288956728381, FRONT,
            ),
        ),
    ),
    "arm26 BIClong flexed": Case(
        (0.0130689089207, -0.0105640662784, 0.0136231456342),
        (-0.0031765727154, -0.0194230941897, -0.012231524757),
        (
            Arc(
                "ellipsoid", BICEPS,
                (0.0134355282182, -0.008274755595, 0.0146972549326),
                (0.0037739601834, -0.0196575631417, -0.0021145926409), 0.105454203913, FRONT,
            ),
        ),
    ),
    "arm26 BIClong far back": Case(
        (0.0049299815752, 0.03010868164, 0.0140876184395),
        (-0.0031765727154, -0.0194230941897, -0.012231524757),
        (
            Arc(
                "ellipsoid", BICEPS,
                (0.0031135798613, 0.0174125407392, -0.0095183981905),
                (-0.0013579624405, -0.0093331897086, -0.0176552211818), 0.0313904421203, FRONT,
            ),
        ),
    ),
}  # fmt: skip


def own(case: Case) -> tuple[float, list[tuple[Arc, Floats, Floats]]]:
    """Return the length of the path, and the arcs that it touches with their ends."""
    path = [{"body": "a"}, *(arc.entry() for arc in case.arcs), {"body": "b"}]
    scene = {
        "bodies": {body: INERTIA for body in "abc"},
        "springs": {"e": {"path": path, "stiffness": 1, "rest_length": 0}},
    }
    system = compile_scene(loaded(scene)).model.system
    work, points = workspace_for(system), system.forces.points
    work.bodies["R"][1:4], work.bodies["x"][1:4] = np.eye(3).ravel(), [case.a, case.b, ORIGIN]
    length, _, _ = measure(points, 0, len(points.entries), work.bodies)
    touched = [
        (arc, np.array(one["enter"]), np.array(one["leave"]))
        for arc, one in zip(case.arcs, points.surfaces, strict=True)
        if one["touches"]
    ]
    return float(length), touched


@pytest.mark.parametrize("name", CASES)
def test_each_arc_is_the_independent_geodesic_between_its_neighbors(name: str) -> None:
    case = CASES[name]
    length, touched = own(case)
    assert touched
    begins = [case.a, *(leave for _, _, leave in touched)]
    ends = [*(enter for _, enter, _ in touched[1:]), case.b]
    total = 0.0
    for (arc, enter, leave), begin, end in zip(touched, begins, ends, strict=False):
        a, b, P, Q = (arc.local(x) for x in (begin, end, enter, leave))
        line = P[:, None] + (Q - P)[:, None] * np.linspace(0.0, 1.0, 30)
        scale = 1.0 / np.sqrt((arc.weights[:, None] * line**2).sum(axis=0))
        line *= scale if arc.kind == "ellipsoid" else np.array([scale, scale, np.ones(30)])
        size = arc.radii[0]  # of the boundary value problem, in units of the surface
        solved = shortest(quadric(arc.weights * size**2), a / size, b / size, line / size)
        assert solved is not None
        np.testing.assert_allclose(P, solved[1] * size, atol=1e-9)
        np.testing.assert_allclose(Q, solved[2] * size, atol=1e-9)
        total += solved[0] * size - float(np.linalg.norm(b - Q))
    total += float(np.linalg.norm(np.subtract(case.b, touched[-1][2])))
    assert length == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize(("name", "longer", "kink"), [
    ("arm26 BRA", 2.37e-5, 2.4), ("Rajagopal addlong_r", 6.7e-5, 4.6), ("Rajagopal addmagIsch_r", 7.7e-5, 2.7),
])  # fmt: skip
def test_cylinders_of_opensim_have_kinks(name: str, longer: float, kink: float) -> None:
    """A taut path has none: its paths are longer than the geodesic."""
    case = CASES[name]
    length, _ = own(case)
    assert case.opensim - length == pytest.approx(longer, rel=0.02)
    assert max(case.arcs[0].kinks(case.a, case.b)) > np.radians(kink)


def test_rows_of_opensim_do_not_converge() -> None:
    """The line between both surfaces of one path meets the ellipsoid at an angle; an arc of the other is too short."""
    case = CASES["arm26 TRIlong"]
    length, _ = own(case)
    assert case.opensim > length + 4e-3
    ellipsoid = case.arcs[1]
    P, before = ellipsoid.local(ellipsoid.P), ellipsoid.local(case.arcs[0].Q)
    normal = P * ellipsoid.weights
    line = (P - before) / np.linalg.norm(P - before)
    assert abs(line @ normal) / np.linalg.norm(normal) > np.sin(np.radians(10.0))
    case = CASES["Rajagopal gasmed_r"]
    length, _ = own(case)
    assert case.opensim < length - 6e-3
    for arc in case.arcs:  # shorter than the straight line between its ends
        assert arc.arc < np.linalg.norm(np.subtract(arc.Q, arc.P)) - 1e-4


@pytest.mark.parametrize("name", ["arm26 BIClong", "arm26 BIClong extended"])
def test_ellipsoids_of_opensim_are_polygons_in_a_plane(name: str) -> None:
    """The section is longer than the geodesic; its polygon with edges of 1 mm is shorter than the section."""
    case = CASES[name]
    length, _ = own(case)
    arc, radii = case.arcs[0], np.array(BICEPS)
    p, q, a = (
        np.array(x) / radii for x in (arc.P, arc.Q, case.a)
    )  # the ellipsoid is a unit sphere, the section a circle
    normal = np.cross(p - a, q - a)
    normal /= np.linalg.norm(normal)
    centre = (p @ normal) * normal
    u, R = (p - centre) / np.linalg.norm(p - centre), np.linalg.norm(p - centre)
    v = np.cross(normal, u)
    angle = np.arctan2((q - centre) @ v, (q - centre) @ u)
    section, _ = quad(lambda t: R * np.linalg.norm((np.cos(t) * v - np.sin(t) * u) * radii), 0.0, angle)
    whole = case.opensim - arc.arc + abs(section)
    assert 1e-8 < whole - length < 1e-5
    edges = abs(section) / int(np.linalg.norm(np.subtract(arc.Q, arc.P)) / 1e-3)
    assert abs(section) - arc.arc == pytest.approx(abs(section) * edges**2 / 24 / 0.02**2, rel=0.4)


def test_ellipsoids_of_opensim_leave_their_side() -> None:
    """The path goes on round the far side, or behind the line between its points, away from the quadrant."""
    case = CASES["arm26 BIClong flexed"]
    length, _ = own(case)
    assert case.opensim > length + 0.08
    assert case.arcs[0].arc > np.pi * 0.025  # more than half of the longest way round, between points 22 mm apart
    case = CASES["arm26 BIClong far back"]
    length, touched = own(case)
    u = np.subtract(case.b, case.a) / np.linalg.norm(np.subtract(case.b, case.a))

    def out(P: Any, Q: Any) -> float:
        middle = np.add(P, Q) / 2 - case.a
        return float((middle - (middle @ u) * u) @ FRONT)

    assert out(case.arcs[0].P, case.arcs[0].Q) < 0.0 < out(*touched[0][1:])
    assert case.opensim < length
