"""The rod of Painleve: it slides on its lower end and leans against the motion.

Above the critical friction, (1 + 3 cos^2) / (3 sin cos) for a thin rod, Coulomb's law has no solution with finite
forces, and the end stops in an impact without collision.
"""

from __future__ import annotations

import numpy as np
import pytest
from loops import start

LENGTH, ANGLE, SPEED = 1.0, np.pi / 3, 2.0
CRITICAL = (1 + 3 * np.cos(ANGLE) ** 2) / (3 * np.sin(ANGLE) * np.cos(ANGLE))


def rod(friction, speed=SPEED):
    """A thin rod of 1 kg whose lower end, a small ball, touches a plane."""
    radius, inertia = 1e-3, LENGTH**2 / 12
    end = [LENGTH / 2, 0, 0]
    return {
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"friction": friction},
        "bodies": {
            "rod": {
                "mass": 1.0,
                "com": [0, 0, 0],
                "inertia": {"principal": [1e-6, inertia, inertia]},
                "position": [-LENGTH / 2 * np.cos(ANGLE), 0, LENGTH / 2 * np.sin(ANGLE) + radius],
                "rotation": {"axis": [0, 1, 0], "angle": ANGLE},
                "velocity": {"linear": [speed, 0, 0]},
                "shapes": [{"type": "sphere", "radius": radius, "position": end}],
            }
        },
        "simulation": {"step": 1e-3, "integrator": "semi_implicit_euler"},
    }


def sticking_impact():
    """Velocities (vx, vz) and rate about y after an impact that stops the end of the rod, by the impulse W^-1 u."""
    r = LENGTH / 2 * np.array([np.cos(ANGLE), -np.sin(ANGLE)])  # from the centre to the end, (x, z)
    J = np.array([[1.0, 0.0, r[1]], [0.0, 1.0, -r[0]]])  # rates (vx, vz, w about y) to the velocity of the end
    inverse_mass = np.diag([1.0, 1.0, 12 / LENGTH**2])
    v = np.array([SPEED, 0.0, 0.0])
    return v - inverse_mass @ J.T @ np.linalg.solve(J @ inverse_mass @ J.T, J @ v)


@pytest.mark.parametrize("method", ["proximal", "single_qp"])
@pytest.mark.parametrize("friction", [1.05 * CRITICAL, 2.0, 5.0])
def test_the_end_stops_in_one_step(method, friction):
    """The impact stops the end within O(h) of the closed form; nothing is unsolved and the energy never rises."""
    scene = rod(friction)
    scene["contacts"]["method"] = method
    run = start(scene, integrator="semi_implicit_euler")
    energies, jams = [run.energy()[0]], 0
    for k in range(1, 21):
        report = run.method.advance(run.state, k * 1e-3)
        assert report.unsolved == 0
        jams += report.jams
        energies.append(run.energy()[0])
        if k == 2:
            v, w = run.body("rod", "linear_velocity"), run.body("rod", "angular_velocity")
            np.testing.assert_allclose([v[0], v[2], w[1]], sticking_impact(), atol=0.04)
    assert np.diff(energies).max() < 1e-9
    assert jams == 1


@pytest.mark.parametrize(("friction", "speed"), [(0.5 * CRITICAL, SPEED), (2.0, -SPEED)])
def test_it_slides_below_the_critical_friction_or_with_the_motion(friction, speed):
    """Sliding decelerates the rod by friction times its load, g / (1 + 3 cos^2 -+ 3 mu sin cos) for each kilogram."""
    run = start(rod(friction, speed), integrator="semi_implicit_euler")
    report = run.method.advance(run.state, 1e-3)
    assert (report.unsolved, report.jams) == (0, 0)
    direction = np.sign(speed)
    lever = 1 + 3 * np.cos(ANGLE) ** 2 - direction * 3 * friction * np.sin(ANGLE) * np.cos(ANGLE)
    change = -direction * friction * 9.81 / lever * 1e-3
    assert run.body("rod", "linear_velocity")[0] - speed == pytest.approx(change, rel=0.02)
