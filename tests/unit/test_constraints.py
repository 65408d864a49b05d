"""Constraints: each level of every row is the time derivative of the one above, with the specified meaning.

Bodies move along given smooth paths, far off the constraints as a rule: rows must be right there as well.  Points
and directions are given in body frames that lie at random in the joint frames by which the kernels know the bodies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from multibody_cli.cables.moving import update_points
from multibody_cli.cables.rope import mark, move_ends
from multibody_cli.constraints import CONSTRAINTS, COUPLINGS, KINDS, TABLES
from multibody_cli.constraints.elements import TablePacker, write_all
from multibody_cli.constraints.limit import TABLE as LIMITS
from multibody_cli.constraints.rolling import tangents_of
from multibody_cli.constraints.rope import TABLE as ROPES
from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.forces.states import STATE
from multibody_cli.kernel import records
from multibody_cli.packing.cables import CablePacker
from multibody_cli.packing.signals import SignalPacker
from multibody_cli.spec.entries import split_coordinate
from multibody_cli.spec.rotations import rotation_matrix
from multibody_cli.tree.workspace import BODY

STEP = 1e-3
"""Of differences of fourth order, s: they err by some 1e-13 times a fifth derivative, and 1e-13 of round-off."""

TOLERANCE = 2e-8

T = 0.8
"""Instant at which the meaning of rows is tested, and at which ropes are measured, s."""

NAMES = ("world", "a", "b", "c")
JOINTS = ("j0", "j1", "j2", "wrist")
"""`wrist` has two coordinates; the numbers of q are shifted against those of v, as after a quaternion."""

SHIFT = 1


def derivative(f, t):
    """df/dt by differences of fourth order."""
    return (8.0 * (f(t + STEP) - f(t - STEP)) - (f(t + 2 * STEP) - f(t - 2 * STEP))) / (12.0 * STEP)


@dataclass
class Wave:
    """c + a sin(w t + p), component by component: value, first and second derivative."""

    c: np.ndarray
    a: np.ndarray
    w: np.ndarray
    p: np.ndarray

    @classmethod
    def of(cls, rng, count, size=1.0):
        return cls(*(scale * rng.uniform(-1, 1, count) for scale in (size, size, 1.5, 3.0)))

    def __call__(self, t):
        phase = self.w * t + self.p
        sine, cosine = np.sin(phase), np.cos(phase)
        return self.c + self.a * sine, self.a * self.w * cosine, -self.a * self.w**2 * sine


@dataclass
class Path:
    """R = R0 exp(h1 [u1]) exp(h2 [u2]) about axes u1, u2; the origin of the joint frame goes along a wave."""

    place: Wave
    turns: Wave
    R0: np.ndarray
    axes: np.ndarray

    @classmethod
    def of(cls, rng):
        axes = rng.normal(size=(2, 3))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        return cls(Wave.of(rng, 3), Wave.of(rng, 2), Rotation.random(rng=rng).as_matrix(), axes)

    def __call__(self, t):
        """x, R, twist (w, v) and acceleration (alpha, a)."""
        x, v, a = self.place(t)
        h, dh, ddh = self.turns(t)
        first, second = (Rotation.from_rotvec(h[k] * self.axes[k]).as_matrix() for k in range(2))
        inner = first @ self.axes[1]
        w = self.R0 @ (dh[0] * self.axes[0] + dh[1] * inner)
        bend = dh[0] * dh[1] * np.cross(self.axes[0], inner)
        alpha = self.R0 @ (ddh[0] * self.axes[0] + ddh[1] * inner + bend)
        return x, self.R0 @ first @ second, np.concatenate([w, v]), np.concatenate([alpha, a])


@dataclass
class Bench:
    """Three moving bodies and five moving coordinates, for the rows of one element; serves as its `PackingContext`."""

    seed: int
    signals: SignalPacker = field(default_factory=SignalPacker)
    cables: CablePacker = field(default_factory=CablePacker)
    states: np.ndarray = field(default_factory=lambda: np.zeros(0, STATE))

    def __post_init__(self):
        rng = self.rng = np.random.default_rng(self.seed)
        self.paths = [Path.of(rng) for _ in NAMES[1:]]
        self.frames = [(np.zeros(3), np.eye(3))]  # body frames in joint frames
        self.frames += [(rng.normal(size=3), Rotation.random(rng=rng).as_matrix()) for _ in NAMES[1:]]
        self.coordinates = Wave.of(rng, len(JOINTS) + 1)

    # --- PackingContext ---
    def row(self, body):
        return NAMES.index(body)

    def point(self, body, point):
        position, rotation = self.frames[self.row(body)]
        return position + rotation @ np.array(point)

    def attachment(self, body, point):
        return self.row(body), self.point(body, point)

    def frame(self, body, pose):
        rotation = self.frames[self.row(body)][1] @ rotation_matrix(pose.rotation)
        return self.row(body), self.point(body, pose.position), rotation

    def cable(self, points):
        return self.cables.add(points, self)

    def direction(self, body, direction):
        return self.frames[self.row(body)][1] @ np.array(direction)

    def coordinate(self, word):
        joint, index = split_coordinate(word)
        iv = JOINTS.index(joint) + int(index or 0)
        return SHIFT + iv, iv

    def joint_of(self, word):
        """Rows need no more of a joint than its coordinate."""
        iv = self.coordinate(word)[1]
        return iv, iv + 1, 0, 0, 0

    def turning(self, body, axis):
        """Every body turns by the first coordinate, as far as the rows know."""
        return SHIFT, 0, -1.0

    def state(self):
        self.states = np.zeros(len(self.states) + 1, STATE)
        return len(self.states) - 1

    def signal(self, spec):
        if spec.constant is not None:
            return self.signals.add_constant(spec.constant)
        return self.signals.add_expression(spec.expression.body)

    # --- references for the rows ---
    def place(self, body, point, t):
        """A point of a body frame in the world."""
        if body == "world":
            return np.array(point)
        x, R, _, _ = self.paths[self.row(body) - 1](t)
        return x + R @ self.point(body, point)

    def axes(self, body, t):
        """Rotation matrix of a body frame."""
        if body == "world":
            return np.eye(3)
        return self.paths[self.row(body) - 1](t)[1] @ self.frames[self.row(body)][1]

    def spin(self, body, t):
        """Angular velocity of a body."""
        return self.paths[self.row(body) - 1](t)[2][:3]

    def speed(self, body, point, t):
        """Velocity of the particle of a body at a point that is given in the world."""
        inside = self.axes(body, t).T @ (np.array(point) - self.place(body, np.zeros(3), t))
        return derivative(lambda s: self.place(body, inside, s), t)

    # --- rows ---
    def add(self, kind, **fields):
        spec = KINDS[kind].spec.model_validate({"type": kind, **fields})
        packed = KINDS[kind].pack(spec, self)
        self.shapes = packed.rows
        packer = TablePacker()
        packer.add(KINDS[kind].table, packed.records, 0, 0)
        self.constraints = packer.pack(self.signals.pack(), self.cables.pack())
        self.measure_ropes()
        self.terms = np.zeros(sum(shape.terms for shape in packed.rows), TERM)
        self.rows = np.zeros(len(packed.rows), ROW)
        last = np.cumsum([shape.terms for shape in packed.rows])
        self.rows["first_term"], self.rows["last_term"] = [0, *last[:-1]], last
        return self

    def measure_ropes(self):
        """Ropes are taut at T."""
        numbers = np.concatenate([np.full(SHIFT, np.nan), self.coordinates(T)[0]])
        spans = self.constraints.tables[TABLES.index(ROPES)]
        bodies, points = records(self.bodies(T)[0]), self.constraints.points
        update_points(points, numbers, self.coordinates(T)[1])
        move_ends(spans, points)
        mark(spans, bodies, numbers, np.zeros(len(spans)))

    def bodies(self, t):
        """Records of the bodies at time t, their twists and their accelerations."""
        bodies = np.zeros(len(NAMES), BODY)
        bodies["R"][0, ::4] = 1.0
        bodies["a"][0] = 0.0, 0.0, 9.81  # as the ground is accelerated in place of gravity
        twists, accelerations = np.zeros((2, len(NAMES), 6))
        for k, path in enumerate(self.paths, start=1):
            x, R, twists[k], accelerations[k] = path(t)
            bodies[k]["x"], bodies[k]["R"] = x, R.T.ravel()
            bodies[k]["w"], bodies[k]["v"] = twists[k, :3], twists[k, 3:]
        return bodies, twists, accelerations

    def levels(self, t):
        """Position, velocity and acceleration of each row, (3, rows), from the output of the kernel at time t."""
        bodies, twists, accelerations = self.bodies(t)
        q, v, a = self.coordinates(t)
        numbers = np.concatenate([np.full(SHIFT, np.nan), q])
        self.terms[["coefficient", "t", "f"]] = np.nan
        self.terms["body"] = self.terms["iv"] = -99
        self.rows["error"] = self.rows["rate"] = self.rows["bias"] = np.nan
        states = records(self.states)
        write_all(self.constraints, states, t, records(bodies), numbers, v, records(self.rows), records(self.terms))
        velocity, acceleration = self.rows["rate"].copy(), self.rows["bias"].copy()
        for i, row in enumerate(self.rows):
            for term in self.terms[row["first_term"] : row["last_term"]]:
                velocity[i] += self._pairing(term, twists, v)
                acceleration[i] += self._pairing(term, accelerations, a)
        return np.array([self.rows["error"], velocity, acceleration])

    @staticmethod
    def _pairing(term, motions, rates):
        if term["iv"] >= 0:
            assert term["body"] == 0
            return term["coefficient"] * rates[term["iv"]]
        assert 1 <= term["body"] < len(NAMES)  # the ground takes no term
        return np.concatenate([term["t"], term["f"]]) @ motions[term["body"]]


def close(found, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def random_fields(kind, rng):
    """Every way to write an entry of a kind, with random numbers."""
    p, s, n, e = (rng.normal(size=3).tolist() for _ in range(4))
    match kind:
        case "distance":
            for b, c in (("a", "b"), ("world", "b"), ("c", "world")):
                yield {"between": [{"body": b, "point": p}, {"body": c, "point": s}], "length": 0.7}
            yield {"between": [{"body": "a", "point": p}, {"body": "b", "point": s}], "limits": [0.2, 0.7]}
            yield {"between": [{"body": "world", "point": p}, {"body": "b", "point": s}], "limits": [None, 0.7]}
            path = [{"body": "a", "point": p}, {"body": "world", "point": s}, {"body": "b", "point": n}]
            yield {"path": path, "length": 0.7}
            branch = [{"body": "a", "point": n, "divisor": 2.5}, {"body": "c", "point": e}, {"body": "a", "point": s}]
            yield {"path": [*path, *branch], "limits": [0.2, 0.7]}
            for kind, body in (("sphere", "c"), ("cylinder", "c"), ("cylinder", "world")):
                surface = {"type": kind, "body": body, "position": e, "radius": 0.1}
                arc = {"wrap": surface, "side": [1, 0, 0]}
                yield {"path": [path[0], arc, path[2]], "length": 0.7}
                yield {"path": [path[1], {"wrap": surface, "side": [-1, 0, 0]}, path[2]], "limits": [0.2, 0.7]}
        case "rope":
            ends = [{"body": "a", "point": p}, {"body": "world", "point": s}]
            a, b, c = (
                {"body": x, "point": y, "radius": 0.1, "axis": z} for x, y, z in (("a", s, n), ("b", n, e), ("c", e, p))
            )
            yield {"over": ends}
            yield {"over": [ends[1], b, ends[0]]}
            yield {"over": [ends[1], {**b, "sense": -1, "slides": True}, ends[0]]}
            yield {"over": [a, b, {"body": "b", "point": s}, {**c, "sense": -1, "slides": True}, {**a, "point": e}]}
            moved, other = (
                {"body": x, "coordinate": word, "moving": [f"{y[0]} + 0.3*q", f"{y[1]} - 0.2*q**2", f"sin(q) + {y[2]}"]}
                for x, word, y in (("a", "j1", n), ("world", "wrist/0", s))
            )
            yield {"over": [moved, ends[1]]}
            yield {"over": [other, {"body": "b", "point": e}]}
            yield {"over": [moved, {**moved, "body": "b"}, other, ends[0]]}
            yield {"over": [moved, {**b, "sense": -1, "slides": True}, other, b, {**c, "slides": True}, other, a]}
            place = {key: moved[key] for key in ("coordinate", "moving")}
            rides, slides = ({key: one[key] for key in one if key != "point"} | place for one in (b, c))
            yield {"over": [moved, rides, {**slides, "slides": True}, {**a, "sense": -1}]}
            yield {"over": [{**slides, "body": "a"}, rides, ends[1]]}
        case "belt":
            a, b, c = (
                {"body": x, "point": y, "radius": 0.1, "axis": z} for x, y, z in (("a", s, n), ("b", n, e), ("c", e, p))
            )
            yield {"over": [a, {**b, "sense": -1}]}
            yield {"over": [{**a, "slides": True}, b, {**c, "slides": True}]}
            place = {"coordinate": "j1", "moving": [f"{n[0]} + 0.3*q", f"{n[1]} - 0.2*q**2", f"sin(q) + {n[2]}"]}
            rides, slides = ({key: one[key] for key in one if key != "point"} | place for one in (a, c))
            yield {"over": [rides, {**b, "sense": -1}]}
            yield {"over": [rides, b, {**slides, "slides": True}]}
        case "point_on_plane":
            for b, c in (("a", "b"), ("world", "b"), ("c", "world")):
                yield {"point": {"body": b, "point": p}, "plane": {"body": c, "normal": n, "position": s}}
        case "rolling":
            yield {"body": "a", "radius": 0.4, "plane": {"normal": n, "position": s}}
            yield {"body": "b", "radius": 0.4, "point": p, "plane": {"normal": n, "position": s}}
            yield {"body": "c", "radius": 0.4, "axis": e}
            yield {"body": "a", "radius": 0.4, "point": p, "axis": e, "plane": {"normal": n, "position": s}}
        case "knife_edge":
            yield {"body": "a", "edge": [e[0], e[1], 0]}
            yield {"body": "b", "point": p, "edge": e, "normal": n}
        case "velocity":
            yield {"terms": [{"body": "a", "angular": n}], "value": 3}
            terms = [{"body": "a", "angular": n, "linear": e, "point": p}, {"body": "b", "linear": s}]
            yield {"terms": [*terms, {"body": "c", "angular": p}], "value": "sin(2*t) + t**2"}
        case "gear":
            yield {"joints": ["j0", "j1"], "ratio": -2.5, "offset": 0.3}
            yield {"joints": ["j0", "j1"], "ratio": -2.5, "offset": 0.3, "backlash": 0.2}
        case "equal":
            yield {"joints": ["j2", "j0", "wrist/1"]}
        case "linear":
            yield {"terms": {"j0": 1.0, "wrist/0": 2.0, "wrist/1": -1.5}, "value": 0.7}
        case "function":
            table = {"x": [-1, -0.2, 0.6, 2], "y": [0.3, -0.1, 0.4, 0.2], "interpolation": "not_a_knot"}
            yield {"output": "j1", "inputs": {"a": "j0"}, "functions": {"f": table}, "value": "f(a)"}
            inputs = {"a": "j0", "b": "wrist/1", "c": "j2"}
            yield {"output": "wrist/0", "inputs": inputs, "parameters": {"k": 0.3}, "value": "k*a*b**2 + sin(a - 2*c)"}
        case "expression":
            a, b = {"body": "a", "point": p}, {"body": "b", "point": s}
            axes = {"body": "a", "axis": n}, {"body": "c", "axis": e}
            yield {"inputs": {"d": {"distance": [a, b]}}, "parameters": {"l": 0.7}, "value": "d - l*(1 + 0.2*sin(3*t))"}
            position = {"position": a, "relative_to": b, "along": {"body": "b", "axis": n}}
            table = {"x": [-1, -0.2, 0.6, 2], "y": [0.3, -0.1, 0.4, 0.2], "interpolation": "not_a_knot"}
            yield {
                "inputs": {"x": position, "q": "wrist/1", "z": {"position": a, "along": [0, 0, 1]}},
                "functions": {"f": table}, "value": "x*z - f(q)*t",
            }  # fmt: skip
            measures = {"d": {"distance": [{"body": "world"}, b]}, "c": {"direction": axes[0], "along": axes[1]}}
            yield {"inputs": measures, "value": "d**2*c", "limits": [-0.3, "20 cm"]}
            yield {"inputs": {"h": {"angle": [*axes]}}, "value": "0.5 - h", "limits": [None, 0]}
            yield {"inputs": {"h": {"angle": [axes[0], [1, 1, 0]]}}, "value": "cos(h)", "limits": [0, None]}
            velocity, spin = {"velocity": a, "along": axes[1]}, {"angular_velocity": "a", "along": axes[0]}
            yield {"inputs": {"w": spin, "r": {"rate": "j1"}}, "parameters": {"k": -3}, "value": "w - k*r"}
            measures = {
                "u": velocity,
                "w": {"angular_velocity": "b", "along": [0, 1, 0]},
                "q": "j1",
                "r": {"rate": "j1"},
            }
            yield {"inputs": measures | {"x": position}, "value": "x*u - sin(q)*w + (t - r)*q"}
        case "rack_pinion":
            yield {"rack": "j1", "pinion": "wrist/0", "radius": 0.05, "offset": 0.2}


CASES = [
    pytest.param(kind, fields, seed, id=f"{kind}-{number}-{seed}")
    for seed in range(3)
    for kind in KINDS
    for number, fields in enumerate(random_fields(kind, np.random.default_rng(100 + seed)))
]


def test_every_kind_is_tested():
    assert {case.values[0] for case in CASES} == CONSTRAINTS.keys() | COUPLINGS.keys()
    assert len(CONSTRAINTS) + len(COUPLINGS) == len(KINDS)


@pytest.mark.parametrize(("kind", "fields", "seed"), CASES)
def test_each_level_is_the_derivative_of_the_one_above(kind, fields, seed):
    bench = Bench(seed).add(kind, **fields)
    for t in (0.3, 1.1):
        error, velocity, acceleration = bench.levels(t)
        assert np.abs(velocity).max() > 1e-3  # the bodies are on the move
        holonomic = np.array([shape.holonomic for shape in bench.shapes])
        close(derivative(lambda s: bench.levels(s)[0], t)[holonomic], velocity[holonomic])
        assert not error[~holonomic].any()
        close(derivative(lambda s: bench.levels(s)[1], t), acceleration)


@pytest.mark.parametrize(("kind", "fields", "seed"), CASES)
def test_terms_are_of_the_moving_bodies_alone(kind, fields, seed):
    bench = Bench(seed).add(kind, **fields)
    bench.levels(0.5)
    wrenches = bench.terms[bench.terms["iv"] < 0]
    named = {NAMES.index(body) for _, body in KINDS[kind].spec.model_validate({"type": kind, **fields}).bodies}
    assert set(wrenches["body"]) == named - {0}
    assert np.isfinite(wrenches["t"]).all()
    assert np.isfinite(wrenches["f"]).all()


# --- meaning of rows ----------------------------------------------------------------------------------------------
P, S, N, E = np.random.default_rng(7).normal(size=(4, 3)).tolist()


def test_distance_is_that_of_the_points():
    bench = Bench(11).add("distance", between=[{"body": "a", "point": P}, {"body": "b", "point": S}], length=0.7)
    close(bench.levels(T)[0], np.linalg.norm(bench.place("a", P, T) - bench.place("b", S, T)) - 0.7, 1e-12)


def test_the_length_of_a_path_is_the_sum_of_its_lines_each_over_the_divisor_of_its_branch():
    places = [("a", P), ("world", S), ("b", N), ("b", E), ("c", P)]
    path = [{"body": body, "point": point} for body, point in places]
    path[3]["divisor"] = 4
    bench = Bench(11).add("distance", path=path, length=0.7)
    a, b, c, d, e = (bench.place(body, point, T) for body, point in places)
    wanted = np.linalg.norm(b - a) + np.linalg.norm(c - b) + np.linalg.norm(e - d) / 4.0
    close(bench.levels(T)[0], wanted - 0.7, 1e-12)


@pytest.mark.parametrize("base", ["world", "b"])
def test_point_on_plane_is_the_height_over_it(base):
    plane = {"body": base, "normal": N, "position": S}
    bench = Bench(12).add("point_on_plane", point={"body": "a", "point": P}, plane=plane)
    normal = bench.axes(base, T) @ (np.array(N) / np.linalg.norm(N))
    close(bench.levels(T)[0], normal @ (bench.place("a", P, T) - bench.place(base, S, T)), 1e-12)


def contact_of(bench, body, point, axis, radius, n):
    """The lowest point of a sphere, or of a circle that is searched through."""
    centre = bench.place(body, point, T)
    if axis is None:
        return centre - radius * n
    u, w = tangents_of(bench.axes(body, T) @ (np.array(axis) / np.linalg.norm(axis)))
    angles = np.linspace(0.0, math.tau, 10_001)
    rim = centre + radius * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * w)
    return rim[np.argmin(rim @ n)]


@pytest.mark.parametrize("axis", [None, E], ids=["sphere", "disc"])
def test_rolling_constrains_the_contact_to_the_plane_with_zero_velocity(axis):
    fields = {} if axis is None else {"axis": axis}
    bench = Bench(13).add("rolling", body="a", point=P, radius=0.4, plane={"normal": N, "position": S}, **fields)
    n = np.array(N) / np.linalg.norm(N)
    contact = contact_of(bench, "a", P, axis, 0.4, n)
    error, velocity, _ = bench.levels(T)
    close(error[0], n @ (contact - np.array(S)), 1e-7)  # the height is stationary, and the search is to 3e-4 rad
    slip = bench.speed("a", contact, T)
    close(velocity[0], n @ slip, 2e-3)
    rows = np.array([n, *tangents_of(n)])
    close(rows @ rows.T, np.eye(3), 1e-14)
    close(velocity, rows @ slip, 2e-3)


def test_a_rolling_disc_satisfies_the_textbook_relation_without_slip():
    """Upright, along x, at the speed v: it turns about y by v / radius; leaning makes no difference to that row."""
    bench = Bench(0).add("rolling", body="a", radius=0.5, axis=[0, 1, 0])
    bench.frames[1] = (np.zeros(3), np.eye(3))
    still = Wave(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))
    roll = Wave(np.zeros(2), np.array([4.0, 0.0]), np.array([1.0, 0.0]), np.zeros(2))
    bench.paths[0] = Path(still, roll, np.eye(3), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    bench.paths[0].place = Wave(np.array([0, 0, 0.5]), np.array([2.0, 0, 0]), np.array([1.0, 0, 0]), np.zeros(3))
    bench.add("rolling", body="a", radius=0.5, axis=[0, 1, 0])
    close(bench.levels(T), np.zeros((3, 3)), 1e-12)


def test_knife_edge_constrains_the_transverse_velocity_only():
    bench = Bench(14).add("knife_edge", body="b", point=P, edge=E, normal=N)
    R, particle = bench.axes("b", T), bench.place("b", P, T)
    across = R @ np.cross(N, E) / np.linalg.norm(np.cross(N, E))
    close(bench.levels(T)[1], across @ bench.speed("b", particle, T))
    bench.levels(T)
    assert abs(bench.terms[0]["f"] @ (R @ np.array(E))) < 1e-14
    assert abs(bench.terms[0]["f"] @ (R @ np.array(N))) < 1e-14


def test_velocity_rows_sum_their_terms():
    terms = [{"body": "a", "angular": N, "linear": E, "point": P}, {"body": "b", "linear": S}]
    bench = Bench(15).add("velocity", terms=terms, value="cos(t)")
    total = np.array(N) @ bench.spin("a", T) - math.cos(T)
    total += np.array(E) @ bench.speed("a", bench.place("a", P, T), T)
    total += np.array(S) @ bench.speed("b", bench.place("b", [0, 0, 0], T), T)
    close(bench.levels(T)[1], total)


def test_expressions_are_those_of_the_motion():
    a, b = {"body": "a", "point": P}, {"body": "b", "point": S}
    axes = {"body": "c", "axis": E}, {"body": "b", "axis": N}
    bench = Bench(19)
    x, y = bench.place("a", P, T), bench.place("b", S, T)
    m, n = (bench.axes(one["body"], T) @ np.array(one["axis"]) / np.linalg.norm(one["axis"]) for one in axes)
    q, v, _ = bench.coordinates(T)
    holonomic = {
        "distance": ({"distance": [a, b]}, np.linalg.norm(x - y)),
        "position": ({"position": a, "along": [0, 3, 4]}, x @ [0, 0.6, 0.8]),
        "relative": ({"position": a, "relative_to": b, "along": axes[0]}, (x - y) @ m),
        "direction": ({"direction": axes[0], "along": axes[1]}, m @ n),
        "angle": ({"angle": [*axes]}, math.acos(m @ n)),
        "coordinate": ("wrist/1", q[4]),
    }
    for quantity, value in holonomic.values():
        close(bench.add("expression", inputs={"x": quantity}, value="x - 2*t").levels(T)[0], [value - 2 * T], 1e-12)
    velocities = {
        "velocity": ({"velocity": a, "along": axes[1]}, n @ bench.speed("a", x, T)),
        "angular_velocity": ({"angular_velocity": "a", "along": axes[0]}, m @ bench.spin("a", T)),
        "rate": ({"rate": "wrist/0"}, v[3]),
    }
    for quantity, value in velocities.values():
        close(bench.add("expression", inputs={"u": quantity}, value="u - t").levels(T)[1], [value - T])


@pytest.mark.parametrize("value", ["x", "0.3 - x", "x**2", "cos(x)"])
@pytest.mark.parametrize("sense", [1, -1])
@pytest.mark.parametrize("quantity", ["distance", "angle"])
def test_rows_without_a_direction_have_no_effect(quantity, sense, value):
    """A body passes through the origin, and through the axes of the world."""
    axes = {"angle": [[0, 0, sense], {"body": "a", "axis": [0, 0, 1]}]}
    x = {"distance": {"distance": [{"body": "world"}, {"body": "a"}]}, "angle": axes}[quantity]
    bench = Bench(20)
    bench.frames[1] = (np.zeros(3), np.eye(3))
    still, moving = np.zeros(3), np.ones(3)
    passing = Wave(still, moving, moving, -T * moving)
    bench.paths[0] = Path(passing, Wave(*(one[:2] for one in vars(passing).values())), np.eye(3), bench.paths[0].axes)
    assert bench.spin("a", T).all()
    error, velocity, acceleration = bench.add("expression", inputs={"x": x}, value=value).levels(T)
    at = 0.0 if quantity == "distance" or sense > 0 else math.pi
    assert error[0] == pytest.approx({"x": at, "0.3 - x": 0.3 - at, "x**2": at * at, "cos(x)": math.cos(at)}[value])
    assert velocity == acceleration == 0.0
    assert not bench.terms["t"].any()
    assert not bench.terms["f"].any()


@pytest.mark.parametrize(
    ("kind", "fields", "errors"),
    [
        ("gear", {"joints": ["j0", "j1"], "ratio": -2, "offset": 0.1}, lambda q: [q[1] + 2 * q[0] - 0.1]),
        (
            "gear",
            {"joints": ["j0", "j1"], "ratio": -2, "offset": 0.1, "backlash": 0.2},
            lambda q: [q[1] + 2 * q[0], 0.2 - q[1] - 2 * q[0]],
        ),
        ("equal", {"joints": ["j0", "j1", "wrist/1"]}, lambda q: [q[1] - q[0], q[4] - q[0]]),
        ("linear", {"terms": {"j0": 1, "wrist/0": -3}, "value": 0.2}, lambda q: [q[0] - 3 * q[3] - 0.2]),
        ("rack_pinion", {"rack": "j2", "pinion": "j1", "radius": 0.1}, lambda q: [q[2] - 0.1 * q[1]]),
    ],
)
def test_relations_are_those_of_the_coordinates(kind, fields, errors):
    bench = Bench(16).add(kind, **fields)
    close(bench.levels(T)[0], errors(bench.coordinates(T)[0]), 1e-14)
    assert not bench.rows["rate"].any()
    assert not bench.rows["bias"].any()


def test_rows_have_distinct_labels():
    """Labels as in: the error of the coupling is 0.1 rad `between j0 and j1`."""
    for case in CASES:
        bench = Bench(0).add(case.values[0], **case.values[1])
        words = [shape.direction for shape in bench.shapes]
        assert all(words)
        assert len(set(words)) == len(words)
    assert Bench(0).add("linear", terms={"j0": 1, "j1": 1, "wrist/0": 1}).shapes[0].direction == (
        "between j0, j1 and wrist/0"
    )


def test_a_limit_is_the_distance_to_its_bound():
    bench = Bench(17).add("gear", joints=["j0", "j1"], ratio=1)
    packer = TablePacker()
    packer.add(LIMITS, [(0, 0, SHIFT + 3, 3, -0.4, 1.0), (1, 1, SHIFT + 3, 3, 0.9, -1.0)], 0, 0)
    bench.constraints = packer.pack(bench.signals.pack(), bench.cables.pack())
    bench.rows, bench.terms = np.zeros(2, ROW), np.zeros(2, TERM)
    bench.rows["first_term"], bench.rows["last_term"] = [0, 1], [1, 2]
    q, v, a = (level[3] for level in bench.coordinates(T))
    close(bench.levels(T), [[q + 0.4, 0.9 - q], [v, -v], [a, -a]], 1e-14)


def test_elements_write_their_own_rows_and_no_others():
    """Two elements of each kind in one model write the same rows as each alone."""
    rng = np.random.default_rng(18)
    entries = [(kind, fields) for kind in KINDS for fields in [*random_fields(kind, rng)][:2]]
    alone = [Bench(18).add(kind, **fields).levels(T) for kind, fields in entries]
    bench, packer, first_row, first_term = Bench(18), TablePacker(), 0, 0
    for kind, fields in entries:
        spec = KINDS[kind].spec.model_validate({"type": kind, **fields})
        packed = KINDS[kind].pack(spec, bench)
        packer.add(KINDS[kind].table, packed.records, first_row, first_term)
        first_row, first_term = first_row + len(packed.rows), first_term + sum(row.terms for row in packed.rows)
        bench.shapes = (*getattr(bench, "shapes", ()), *packed.rows)
    bench.constraints = packer.pack(bench.signals.pack(), bench.cables.pack())
    bench.measure_ropes()
    bench.rows, bench.terms = np.zeros(first_row, ROW), np.zeros(first_term, TERM)
    last = np.cumsum([shape.terms for shape in bench.shapes])
    bench.rows["first_term"], bench.rows["last_term"] = [0, *last[:-1]], last
    close(bench.levels(T), np.concatenate(alone, axis=1), 1e-14)


def test_a_table_begins_with_its_first_row_and_term():
    for table in TABLES:
        assert table.dtype.names[:2] == ("first_row", "first_term"), table.name
    assert len({table.name for table in TABLES}) == len(TABLES)


DISC = {"body": "b", "radius": 0.1, "axis": [0, 1, 0]}


# --- accepted entries ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "length": 0}, "above 0"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}]}, "either `length` or `limits`"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "length": 1, "limits": [1, 2]}, "either `length`"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "limits": [2, 1]}, "below the greatest one"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "limits": [None, None]}, "a least or a greatest"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "limits": [None, 0]}, "above 0"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "limits": [1]}, "limits"),
        ("distance", {"between": [{"body": "a"}, {"body": "b"}], "length": 1, "restitution": 1}, "no effect without"),
        ("distance", {"path": [{"body": "a"}], "length": 1}, "at least 2"),
        ("distance", {"path": "rope", "length": 1}, "unknown path `rope`"),
        ("distance", {"path": [{"body": "a"}, {"body": "b", "divisor": 2}], "length": 1}, "at least two points"),
        ("distance", {"path": [{"body": "a"}, {"body": "b", "divisor": 0}], "length": 1}, "above 0"),
        (
            "distance",
            {"between": [{"body": "a"}, {"body": "b"}], "path": [{"body": "a"}, {"body": "b"}], "length": 1},
            "one of `between`",
        ),
        ("distance", {"length": 1}, "one of `between` and `path`"),
        ("rope", {"over": [{"body": "a"}]}, "at least 2"),
        ("rope", {"over": [{"body": "a"}, {"body": "b"}], "slack": [0, 0]}, "expected 1 length, one for each section"),
        ("rope", {"over": [{"body": "a"}, DISC, {"body": "c"}], "length": 1}, "has several sections"),
        ("rope", {"over": [{"body": "a"}, {**DISC, "slides": True}]}, "cannot slide at its end"),
        ("rope", {"over": [{"body": "a"}, {**DISC, "turns": 1}, {"body": "c"}]}, "has no effect on a pulley that"),
        ("rope", {"over": [{"body": "a"}, {**DISC, "sense": 2}, {"body": "c"}]}, "sense"),
        ("belt", {"over": [{**DISC, "slides": True}, {**DISC, "body": "a", "slides": True}]}, "at least one of its"),
        ("gear", {"joints": ["j0", "j1"], "ratio": 0}, "nonzero"),
        ("gear", {"joints": ["j0", "j1"], "ratio": 2, "backlash": 0.1, "reduce": True}, "remove `reduce`"),
        ("gear", {"joints": ["j0", "j1"], "ratio": 2, "backlash": -0.1}, "at least 0"),
        ("rack_pinion", {"rack": "j0", "pinion": "j1", "radius": 0}, "nonzero"),
        ("linear", {"terms": {"j0": 0}}, "nonzero"),
        ("knife_edge", {"body": "a", "edge": [0, 0, 2]}, "parallel to `normal`"),
        ("velocity", {"terms": [{"body": "a"}]}, "`angular` or `linear`"),
        ("velocity", {"terms": [{"body": "a", "angular": [1, 0, 0], "point": [1, 0, 0]}]}, "`point` has no effect"),
        ("velocity", {"terms": [{"body": "a", "angular": [1, 0, 0]}], "value": "1 m/s"}, "an angular speed"),
        ("velocity", {"terms": [{"body": "a", "linear": [1, 0, 0]}], "value": "1 rpm"}, "a speed"),
        ("expression", {"inputs": {"q": "j0"}, "value": "q - p"}, "unknown name `p`"),
        ("expression", {"inputs": {"q": "j0", "p": "j1"}, "value": "q"}, "no expression uses it"),
        ("expression", {"inputs": {"t": "j0"}, "value": "t"}, "`t` is the time"),
        ("expression", {"inputs": {"q": "j0"}, "parameters": {"t": 1}, "value": "q + t"}, "`t` is the time"),
        ("expression", {"inputs": {"q": "j0"}, "value": "q - q + t"}, "does not change with any motion"),
        ("expression", {"inputs": {"q": "j0"}, "value": "abs(q)"}, "not twice differentiable"),
        ("expression", {"inputs": {"q": "j0"}, "value": "q", "limits": [None, None]}, "a least or a greatest value"),
        ("expression", {"inputs": {"q": "j0"}, "value": "q", "limits": [2, 1]}, "below the greatest one"),
        ("expression", {"inputs": {"q": "j0"}, "value": "q", "restitution": 0.5}, "no effect without `limits`"),
        ("expression", {"inputs": {"v": {"rate": "j0"}}, "value": "v", "limits": [0, None]}, "an input is a velocity"),
        ("expression", {"inputs": {"v": {"rate": "j0"}}, "value": "v**2 - 1"}, "not linear in velocities"),
        ("expression", {"inputs": {"v": {"rate": "j0"}, "w": {"rate": "j1"}}, "value": "v*w"}, "not linear"),
        ("expression", {"inputs": {"x": {"speed": "a"}}, "value": "x"}, "a coordinate or a quantity with one of"),
        ("expression", {"inputs": {"x": {"position": {"body": "a"}}}, "value": "x"}, "along"),
        (
            "expression",
            {"inputs": {"x": {"position": {"body": "a", "point": ["1 rad", 0, 0]}}}, "value": "x"},
            "a length",
        ),
        ("expression", {"inputs": {"x": {"position": {"body": "world"}, "along": [0, 0, 1]}}, "value": "x"}, "nothing"),
        ("expression", {"inputs": {"d": {"distance": [{"body": "a"}, {"body": "a"}]}}, "value": "d"}, "two different"),
        ("expression", {"inputs": {"h": {"angle": [[0, 0, 1], [1, 0, 0]]}}, "value": "h"}, "two different bodies"),
        ("expression", {"inputs": {"h": {"angle": [[0, 0, 1], [0, 0, 0]]}}, "value": "h"}, "a nonzero direction"),
    ],
)
def test_refusals(kind, fields, message):
    with pytest.raises(ValueError, match=message):
        KINDS[kind].spec.model_validate({"type": kind, **fields})
