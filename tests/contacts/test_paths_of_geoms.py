"""When and where two geoms meet in a step, against dense samples of their distance along the same paths."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from geoms import Pose, bodies_at, contacts_of, random_pose, smallest_gaps
from scipy.optimize import brentq, minimize_scalar
from scipy.spatial.transform import Rotation

from multibody_cli.contacts.detect import detect_in_step, find_near_pairs
from multibody_cli.contacts.forms import Collider, box, capsule, cylinder, ellipsoid, geometry_of, hull, sphere
from multibody_cli.contacts.work import FITS, detection_workspace_for
from multibody_cli.kernel import records

MOVING = np.dtype([("x", "f8", 3), ("R", "f8", 9), *((name, "f8", 3) for name in ("w", "v", "alpha", "a"))])
H = 1e-3
REACH = 1e-5


class Path(NamedTuple):
    """A pose, a twist about the origin of the body, and its velocity-product accelerations."""

    pose: Pose
    v: np.ndarray
    w: np.ndarray
    a: np.ndarray
    alpha: np.ndarray

    def at(self, t) -> tuple[np.ndarray, np.ndarray]:
        """Positions (K, 3) and rotations (K, 3, 3) at times (K,)."""
        t = np.asarray(t)[:, None]
        turns = Rotation.from_rotvec(t * self.w + 0.5 * t * t * self.alpha).as_matrix()
        return self.pose.x + t * self.v + 0.5 * t * t * self.a, turns @ self.pose.R

    def starting(self, earlier: float) -> Path:
        """The path whose pose after this time is that of this one."""
        turn = Rotation.from_rotvec(-earlier * self.w).as_matrix()
        return self._replace(pose=Pose(self.pose.x - earlier * self.v, turn @ self.pose.R))


def straight(pose, v, w=(0.0, 0.0, 0.0)) -> Path:
    return Path(pose, np.array(v, dtype=float), np.array(w, dtype=float), np.zeros(3), np.zeros(3))


def contacts_in_step(colliders, paths, reach=REACH):
    """The contacts of a step of H, and the number of unresolved pairs."""
    geometry = geometry_of(colliders)
    bodies = np.zeros(len(paths) + 1, MOVING)
    placed = bodies_at([path.pose for path in paths])
    bodies["x"], bodies["R"] = placed["x"], placed["R"]
    for body, path in zip(bodies[1:], paths, strict=True):
        body["v"], body["w"], body["a"], body["alpha"] = path.v, path.w, path.a, path.alpha
    bodies, work = records(bodies), detection_workspace_for(geometry, pairs=20, contacts=400)
    fastest = max(np.linalg.norm(p.v) + np.linalg.norm(p.w) * 3.0 for p in paths)
    find_near_pairs(geometry, bodies, 2.0 * H * fastest + reach, work)
    n, overflow = detect_in_step(geometry, bodies, reach, H, work)
    assert overflow == FITS
    return np.array(work.contacts[:n]), int(work.unresolved[0])


def gaps_along(form_a, a: Path, form_b, b: Path, times) -> np.ndarray:
    """The distances (K,) of two shapes at times (K,)."""
    (x, R), (y, S) = a.at(times), b.at(times)
    home, back = Pose(np.zeros(3), np.eye(3)), np.swapaxes(R, 1, 2)
    return smallest_gaps(form_a, home, form_b, np.einsum("kij,kj->ki", back, y - x), back @ S)


def sampled_time(form_a, a: Path, form_b, b: Path, samples: int) -> tuple[float, float]:
    """The first time of the step without distance, infinite if there is none, and the smallest distance until then."""
    times = np.linspace(0.0, H, samples + 1)
    gaps = gaps_along(form_a, a, form_b, b, times)

    def gap(t):
        return float(gaps_along(form_a, a, form_b, b, [t])[0])

    for k in range(samples):
        if gaps[k + 1] <= 0.0:
            return float(brentq(gap, times[k], times[k + 1], xtol=1e-12)), 0.0
        if k > 0 and gaps[k] <= min(gaps[k - 1], gaps[k + 1]) and gaps[k] < 4.0 * np.ptp(gaps[k - 1 : k + 2]):
            lowest = minimize_scalar(
                gap, bounds=(times[k - 1], times[k + 1]), options={"xatol": 1e-10}, method="bounded"
            )
            gaps[k] = min(gaps[k], lowest.fun)
            if lowest.fun <= 0.0:
                return float(brentq(gap, times[k - 1], lowest.x, xtol=1e-12)), 0.0
    return math.inf, float(gaps.min())


def random_form(generator):
    size = 10.0 ** generator.uniform(-2.0, 0.0)
    lengths = size * generator.uniform(0.2, 1.0, 3)
    return (
        sphere(size),
        box(lengths),
        capsule(lengths[0], lengths[1]),
        cylinder(lengths[0], lengths[1]),
        ellipsoid(lengths),
        hull(size * generator.normal(0.0, 0.4, (12, 3))),
    )[generator.choice(6, p=[0.2, 0.25, 0.2, 0.05, 0.05, 0.25])]


def random_pair(generator):
    """Two shapes whose paths lead through a pose at which they touch, overlap a little or just miss each other."""
    form_a, form_b = random_form(generator), random_form(generator)
    a, away = random_pose(generator, 1.0), generator.normal(size=3)
    away /= np.linalg.norm(away)
    turn = Rotation.random(rng=generator).as_matrix()
    reach = form_a.bounding_radius + form_b.bounding_radius

    def gap(distance):
        return smallest_gaps(form_a, a, form_b, [a.x + distance * away], [turn])[0]

    distance = brentq(gap, 0.0, 2.0 * reach)
    speed = 10.0 ** generator.uniform(-1.0, 3.0)
    distance += generator.choice([0.0, 1.0, -1.0]) * 10.0 ** generator.uniform(-5.0, 0.0) * min(reach, H * speed)
    direction, common = generator.normal(size=(2, 3))
    direction *= speed / np.linalg.norm(direction)
    spins = (
        generator.normal(size=(2, 3))
        * 10.0 ** generator.uniform(-1.0, 2.0, (2, 1))
        * (generator.random(2) < 0.7)[:, None]
    )
    past = generator.uniform(0.0, H)
    return (
        form_a,
        straight(a, common * speed, spins[0]).starting(past),
        form_b,
        straight(Pose(a.x + distance * away, turn), common * speed + direction, spins[1]).starting(past),
    )


def check_pair(seed: int) -> str:
    """Compare a random pair with samples; return its kind, or an empty word if it overlaps at the start."""
    form_a, a, form_b, b = random_pair(np.random.default_rng(seed))
    first = float(gaps_along(form_a, a, form_b, b, [0.0])[0])
    if first <= 1e-6:
        return ""
    contacts, unresolved = contacts_in_step([Collider(form_a, 1), Collider(form_b, 2)], [a, b])
    time, smallest = sampled_time(form_a, a, form_b, b, 300)
    met = contacts[contacts["time"] > 0.0]
    assert unresolved == 0
    size = min(form_a.bounding_radius, form_b.bounding_radius)
    if not len(met):
        closing = contacts[closing_rows(contacts, a, b)]
        assert not len(closing), "a pair that does not meet has a row that acts"
        assert time > 0.99 * H or depth_after(form_a, a, form_b, b, time) < 1e-6 * size, "a contact is missed"
        return "miss" if smallest > 1e-3 * size else "near miss"
    assert time < math.inf or smallest < 1e-7 * size, "a phantom"
    if time == math.inf:
        return "graze"
    nearest = met[np.argmin(met["gap"])]
    (x, R), (y, S) = a.at([time]), b.at([time])
    slow = abs(nearest["time"] - time) > 0.01 * H
    assert not slow or depth_after(form_a, a, form_b, b, min(time, nearest["time"])) < 1e-6 * size, "the time is off"
    exact = normal_of(form_a, Pose(x[0], R[0]), form_b, Pose(y[0], S[0]))
    assert nearest["normal"] @ exact > math.cos(math.radians(1.0)) or slow, "the direction is off"
    return "hit"


def closing_rows(contacts, a: Path, b: Path):
    """Whether rows of the start act on the velocities without contacts."""
    acts = []
    for contact in contacts:
        p = contact["point"]
        u = b.v + np.cross(b.w, p - b.pose.x) - a.v - np.cross(a.w, p - a.pose.x)
        acts.append(contact["gap"] + H * (contact["normal"] @ u) < 0.0)
    return np.array(acts, bool)


def depth_after(form_a, a, form_b, b, time) -> float:
    """The largest depth within a hundredth of the step."""
    return -float(gaps_along(form_a, a, form_b, b, np.linspace(time, time + 0.01 * H, 20)).min())


def normal_of(form_a, a: Pose, form_b, b: Pose):
    contacts = contacts_of(form_a, a, form_b, b)
    return contacts["normal"][np.argmin(contacts["gap"])]


def test_random_pairs_meet_when_samples_say():
    kinds = {check_pair(seed) for seed in range(60)}
    assert kinds >= {"hit", "miss"}


@pytest.mark.nightly
def test_many_random_pairs_meet_when_samples_say():
    kinds = [check_pair(seed) for seed in range(2000)]
    assert sum(kind != "" for kind in kinds) > 1000


def test_a_turn_about_the_axis_of_symmetry_hides_no_contact():
    """A capsule that turns about its axis and across it, in a frame that turns too, and meets a ball."""
    form_a, form_b = capsule(0.1, 0.6), sphere(0.05)
    for spin in (0.0, 500.0, 3000.0):
        turn = Rotation.from_euler("yx", [0.3, 0.7]).as_matrix()
        a = straight(Pose(np.zeros(3), turn), np.zeros(3), turn @ [0.0, 200.0, spin])
        b = straight(Pose(turn @ [0.16, 0.0, 0.3], np.eye(3)), [0.0, 0.0, 0.0], [0.0, 0.0, 900.0])
        contacts, unresolved = contacts_in_step([Collider(form_a, 1), Collider(form_b, 2)], [a, b])
        time, _ = sampled_time(form_a, a, form_b, b, 3000)
        assert (unresolved, len(contacts)) == (0, 1)
        assert contacts["time"] == pytest.approx([time], abs=1e-3 * H)


def test_a_slow_pair_has_the_contacts_of_the_start():
    colliders = [Collider(box([1.0, 1.0, 1.0]), 1), Collider(sphere(0.1), 2)]
    floor = straight(Pose(np.zeros(3), np.eye(3)), np.zeros(3))
    falls = straight(Pose(np.array([0.0, 0.0, 0.602]), np.eye(3)), [0.0, 0.0, -3.0])
    slow, _ = contacts_in_step(colliders, [floor, falls], reach=4e-3)
    fast, _ = contacts_in_step(colliders, [floor, falls])
    assert slow["time"].tolist() == slow["delay"].tolist() == [0.0]
    assert slow["gap"] == pytest.approx(2e-3, rel=1e-12)
    assert fast["time"] == pytest.approx(2.0 / 3.0 * H, rel=1e-4)
    assert fast["delay"] == pytest.approx(2.0 / 3.0 * H, rel=1e-9)
    assert fast["gap"].tolist() == [0.0]


def test_what_moves_along_has_the_contacts_of_the_start():
    """At any common velocity: only the relative motion counts."""
    common = [7500.0, -200.0, 30.0]
    paths = [straight(Pose(np.array([0.0, 0.0, z]), np.eye(3)), common) for z in (0.0, 0.601)]
    contacts, _ = contacts_in_step([Collider(box([1.0, 1.0, 1.0]), 1), Collider(sphere(0.1), 2)], paths)
    assert contacts["time"].tolist() == [0.0]
    assert contacts["gap"] == pytest.approx(1e-3, rel=1e-12)
