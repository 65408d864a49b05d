"""Signs of the second variation on cones: copositive matrices, and limits that touch without force."""

from __future__ import annotations

import numpy as np
import pytest

import mbsim
from multibody_cli.kernel import Floats
from multibody_cli.statics.admissible import stability_on_cone

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

HORN = np.array([[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1.0]])
"""Copositive, and not the sum of a semidefinite and a nonnegative matrix (Hall and Newman 1963)."""


def stability(K: Floats, G: Floats) -> str:
    n = len(K)
    return stability_on_cone(np.asarray(K, float), np.zeros((3, n, n)), np.zeros(n), np.reshape(G, (-1, n)))


@pytest.mark.parametrize(
    ("K", "G", "expected"),
    [
        (np.diag([1.0, 2.0]), np.zeros((0, 2)), "stable"),
        (np.diag([1.0, -2.0]), np.zeros((0, 2)), "unstable"),
        ([[1, 2], [2, 1]], np.eye(2), "stable"),  # negative outside of the cone alone
        ([[1, -2], [-2, 1]], np.eye(2), "unstable"),
        ([[1, -1], [-1, 1]], np.eye(2), "neutral"),  # 0 inside
        ([[0, 1], [1, 0]], np.eye(2), "neutral"),  # 0 on its edges
        ([[-1]], [[1], [-1]], "stable"),  # no displacement at all
        ([[-1]], [[1]], "unstable"),
        (np.diag([1, -1]), [[1, -1.01], [1, 1.01]], "stable"),
        (np.diag([1, -1]), [[1, -1], [1, 1]], "neutral"),
        (np.diag([1, -1]), [[1, -0.99], [1, 0.99]], "unstable"),
        (np.diag([-1, 1, 1]), [[1, 0, 0], [-1, 1, 0], [-1, 0, 1]], "stable"),  # y >= x, z >= x >= 0
        (HORN, np.eye(5), "neutral"),
        (HORN + 1e-3 * np.eye(5), np.eye(5), "stable"),
        (HORN - 1e-3 * np.eye(5), np.eye(5), "unstable"),
    ],
)
def test_signs_on_cones(K: Floats, G: Floats, expected: str) -> None:
    """They depend neither on the units of the displacements nor on those of the rows."""
    G = np.asarray(G, float)
    for k in range(3):
        generator = np.random.default_rng(k)
        scale = 10.0 ** (k * generator.uniform(-2, 2, len(K)))
        rows = 10.0 ** (k * generator.uniform(-3, 3, len(G)))
        assert stability(scale[:, None] * np.asarray(K, float) * scale, rows[:, None] * G * scale) == expected


@pytest.mark.parametrize("n", [2, 3, 4])
def test_random_matrices_have_the_signs_of_samples_of_the_cone(n: int) -> None:
    """A sample below 0 makes it unstable; a stable one has none."""
    generator, found = np.random.default_rng(n), []
    for _ in range(40):
        K = generator.normal(size=(n, n)) + 1.2 * np.eye(n)
        samples = np.abs(generator.normal(size=(20_000, n)))
        samples[::2] *= generator.random((10_000, n)) > 0.5
        found.append(stability(0.5 * (K + K.T), np.eye(n)))
        least = float(np.einsum("si,ij,sj->s", samples, K, samples).min())
        assert found[-1] == "unstable" if least < 0.0 else found[-1] in ("stable", "unstable")
        if found[-1] == "unstable":
            assert least < 0.05 * n  # samples are near the least value
    assert {"stable", "unstable"} <= set(found)


def pendulum(height: float, limits: str, more: str = "") -> str:
    """Return a point mass above (or below) its hinge, with limits of the angle."""
    return f"""mbsim: 1
bodies: {{rod: {{mass: 2, com: [0, 0, {height}], inertia: {{principal: [0, 0, 0]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: rod, limits: {limits}}}}}
{more}simulation: {{duration: 1 s, step: 1 ms}}
"""


@pytest.mark.parametrize(
    ("height", "limits", "expected"),
    [(-1, "[0, 1]", "stable"), (-1, "[-1, 0]", "stable"), (1, "[0, 1]", "unstable"), (1, "[-1, 0]", "unstable")],
)
def test_a_pendulum_that_touches_one_limit_moves_to_the_other_side(height: float, limits: str, expected: str) -> None:
    found = mbsim.equilibrium(pendulum(height, limits))
    assert (found["hinge"], found.stability, found.found.touched) == (0.0, expected, 1)
    np.testing.assert_allclose(found.found.stiffness, [-height * 2 * 9.81], rtol=1e-10)


def test_a_pendulum_upside_down_between_two_limits_stands() -> None:
    """Limits of the angle and of a coupled coordinate close both sides: no displacement is admissible."""
    between = """mbsim: 1
bodies:
  rod: {mass: 2, com: [0, 0, 1], inertia: {principal: [0, 0, 0]}}
  other: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  hinge: {type: revolute, axis: [0, 1, 0], child: rod, limits: [0, 1]}
  shaft: {type: revolute, axis: [0, 1, 0], child: other, limits: [LOWER, 2]}
couplings: {gear: {type: gear, joints: [hinge, shaft], ratio: -1}}
simulation: {duration: 1 s, step: 1 ms}
"""
    closed, open_ = (mbsim.equilibrium(between.replace("LOWER", lower)) for lower in ("0", "-1"))
    assert (closed.stability, closed.found.unstable, closed.found.touched) == ("stable", 1, 2)
    assert (open_.stability, open_.found.touched) == ("unstable", 1)


@pytest.mark.parametrize("start", [0.2, -0.2, 0.5, -0.5])
def test_a_pendulum_upside_down_leans_on_a_limit(start: float) -> None:
    """On both sides, the limit at 0.5 rad is pressed by m g l sin(0.5), and nothing can move."""
    found = mbsim.equilibrium(pendulum(1, "[-0.5, 0.5]"), overrides={"joints.hinge.q": start})
    assert found["hinge"] == pytest.approx(np.copysign(0.5, start), abs=1e-14)
    assert (found.stability, found.found.touched, len(found.found.stiffness)) == ("stable", 0, 0)
    assert [row.force for row in found.rows] == [pytest.approx(2 * 9.81 * np.sin(0.5), rel=1e-12)]


def test_a_plate_on_four_ropes_hangs_on_all_of_them() -> None:
    """The tensions of least squares of one-sided rows: a quarter of the weight each, moved to the side of the mass.

    All ropes are tight, so that the plate swings like a point, and turns about the vertical by m g r^2/l.
    """
    corners = [(x, y) for x in (-0.4, 0.4) for y in (-0.3, 0.3)]
    ropes = "".join(
        f"  r{k}: {{type: rope, over: [{{body: world, point: [{x}, {y}, 1]}}, {{body: plate, point: [{x}, {y}, 0]}}],"
        " length: 1}\n"
        for k, (x, y) in enumerate(corners)
    )
    for shift in (0.0, 0.1, 0.25):
        found = mbsim.equilibrium(f"""mbsim: 1
bodies: {{plate: {{mass: 8, com: [{shift}, 0, 0], inertia: {{principal: [0.5, 0.5, 1]}}}}}}
constraints:
{ropes}simulation: {{duration: 1 s, step: 1 ms}}
""")
        weight = 8 * 9.81
        tensions = [weight / 4 * (1 + shift * x / 0.4**2) for x, _ in corners]
        np.testing.assert_allclose([row.force for row in found.rows], tensions, rtol=1e-9)
        assert (found.stability, found.redundant, len(found.found.stiffness)) == ("stable", 1, 3)
