"""The benchmark bicycle, linearized about its steady motion.

Source: Meijaard, Papadopoulos, Ruina and Schwab, Linearized dynamics equations for the balance and steer of a bicycle:
a benchmark and review, Proc. R. Soc. A 463 (2007): parameters of table 1, coefficients of section 5 for its equation
(5.3), M x'' + v C1 x' + (g K0 + v^2 K2) x = 0, and the eigenvalues of table 2.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbsim

TILT = math.pi / 10.0
SCENE = f"""
mbsim: 1
name: bicycle
bodies:
  rear_frame: {{mass: 85, inertia: {{matrix: [[9.2, 0, -2.4], [0, 11, 0], [-2.4, 0, 2.8]]}}, position: [0.3, 0, 0.9]}}
  rear_wheel: {{mass: 2, inertia: {{principal: [0.0603, 0.12, 0.0603]}}}}
  handlebar: {{mass: 4, inertia: {{matrix: [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]]}}}}
  front_wheel: {{mass: 3, inertia: {{principal: [0.1405, 0.28, 0.1405]}}}}
joints:
  rear_hub: {{type: revolute, parent: rear_frame, child: rear_wheel, axis: [0, 1, 0],
    origin: {{position: [-0.3, 0, -0.6]}}}}
  steering: {{type: revolute, parent: rear_frame, child: handlebar, axis: [{-math.sin(TILT)!r}, 0, {math.cos(TILT)!r}],
    origin: {{position: [0.8, 0, -0.9]}}, child_origin: {{position: [0.2, 0, -0.7]}}}}
  front_hub: {{type: revolute, parent: handlebar, child: front_wheel, axis: [0, 1, 0],
    origin: {{position: [0.12, 0, -0.35]}}}}
constraints:
  rear_contact: {{type: rolling, body: rear_wheel, radius: 0.3, axis: [0, 1, 0]}}
  front_contact: {{type: rolling, body: front_wheel, radius: 0.35, axis: [0, 1, 0]}}
simulation: {{duration: 1 s, step: 1 ms}}
"""

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])

TABLE_2 = {
    0: [-3.131643247907, 3.131643247907, -5.530943717654, 5.530943717654],
    5: [-0.775341882196 - 4.464867713788j, -0.775341882196 + 4.464867713788j, -0.322866429004, -14.078389692798],
}


def eigenvalues(v: float, method: str) -> np.ndarray:
    """Eigenvalues of all small motions about the upright ride at v, m/s."""
    sim = mbsim.Simulation(mbsim.load(SCENE, {"simulation.method": method}))
    sim.v["rear_frame"][0] = v
    for side, radius in (("rear", 0.3), ("front", 0.35)):
        if method == "baraff":
            sim.v[f"{side}_wheel"][[0, 4]] = v, v / radius
        else:
            sim.v[f"{side}_hub"][:] = v / radius
    if method == "baraff":
        sim.v["handlebar"][0] = v
    return np.linalg.eigvals(sim.linearize().A)


@pytest.mark.parametrize(("method", "speeds"), [("aba", range(11)), ("baraff", (0, 5))])
def test_the_eigenvalues_of_the_bicycle_are_those_of_the_benchmark(method, speeds):
    for v in speeds:
        found = eigenvalues(v, method)
        bound = 1e-11  # five times the largest error found, 2.2e-12: round-off of 1e-13 in A, 20 times
        K = 9.81 * K0 + v**2 * K2
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, v * C1)]])
        for value in (*np.linalg.eigvals(A), *TABLE_2.get(v, [])):
            assert np.abs(found - value).min() < bound, (v, value)
        assert len(found) == 10  # position, heading, speed and both wheels beside lean and steering
        assert np.sort(np.abs(found))[5] < (1e-4 if method == "baraff" else 1e-11)
