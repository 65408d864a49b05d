"""Inverse dynamics of robots with six hinges, beside the recursive Newton-Euler algorithm of Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim

pin = pytest.importorskip("pinocchio")

AXES = {"random": None, "aligned": ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")}
"""Axes of the hinges: any directions, or those of an industrial robot, with right angles."""


def words(numbers: np.ndarray) -> str:
    return " ".join(map(repr, numbers.tolist()))


def robot(rng: np.random.Generator, axes: tuple[str, ...] | None) -> str:
    """Return a robot with six links of random inertias."""
    parts = ['<link name="l0"/>']
    for k in range(1, 7):
        root = rng.normal(size=(3, 3))
        inertia = 0.05 * root @ root.T + 0.1 * np.eye(3)
        entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia[np.triu_indices(3)].tolist(), strict=True)
        moments = " ".join(f'{name}="{value!r}"' for name, value in entries)
        axis = words(rng.normal(size=3)) if axes is None else axes[k - 1]
        turn = words(rng.normal(size=3)) if axes is None else "0 0 0"
        parts.append(
            f'<link name="l{k}"><inertial><origin xyz="{words(0.1 * rng.normal(size=3))}"/><mass value="{k}"/>'
            f'<inertia {moments}/></inertial></link><joint name="j{k}" type="continuous"><parent link="l{k - 1}"/>'
            f'<child link="l{k}"/><origin xyz="{words(0.3 * rng.normal(size=3))}" rpy="{turn}"/><axis xyz="{axis}"/>'
            "</joint>"
        )
    return f'<robot name="six">{"".join(parts)}</robot>'


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
@pytest.mark.filterwarnings("ignore::mbsim.SceneWarning")
def test_forces_of_a_robot_with_six_hinges(tmp_path: Path, axes: tuple[str, ...] | None) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "six.urdf"
    path.write_text(robot(rng, axes))
    simulation, model = mbsim.Simulation(mbsim.load(path)), pin.buildModelFromUrdf(str(path))
    data, names = model.createData(), [f"j{k}" for k in range(1, 7)]
    for angles in (np.zeros(6), np.full(6, 0.5 * np.pi), *rng.uniform(-3.0, 3.0, (10, 6))):
        v, a = rng.normal(size=(2, 6))
        for name, angle, rate in zip(names, angles, v, strict=True):
            simulation.q[name][:], simulation.v[name][:] = angle, rate
        places = np.column_stack([np.cos(angles), np.sin(angles)]).ravel()
        expected = pin.rnea(model, data, places, v, a)
        np.testing.assert_allclose(simulation.inverse_dynamics(a), expected, rtol=0, atol=1e-12 * abs(expected).max())
