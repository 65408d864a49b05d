"""Resistance of contacts to rolling and spinning against closed forms, for every method."""

from __future__ import annotations

import math

import numpy as np
import pytest
from final_samples import last_instants

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import METHODS

G, R, M, MU, ROLLING, TORSIONAL, H = 9.81, 0.1, 1.3, 0.5, 2e-3, 3e-3, 1e-3
INERTIA = 0.4 * M * R * R
DECELERATION = ROLLING * G / (R * (1.0 + INERTIA / (M * R * R)))
SPIN_DECELERATION = TORSIONAL * M * G / INERTIA
THRESHOLD = math.atan(ROLLING / R)
STEPS = 20

HEAD = f"mbsim: 1\nsimulation: {{duration: {STEPS} ms, step: 1 ms}}\noutput: {{every: 1 ms}}\ngravity: [0, 0, {-G}]\n"
SURFACE = f"{{static: {MU}, rolling: {ROLLING}, torsional: {TORSIONAL}}}"


def on_plane(angle, ball, friction=SURFACE):
    """A ball on a plane turned by `angle` (rad) about y."""
    turn = f"rotation: {{axis: [0, 1, 0], angle: {angle!r}}}"
    place = f"[{R * math.sin(angle)!r}, 0, {R * math.cos(angle)!r}]"
    return (
        f"{HEAD}world: {{shapes: [{{type: plane, {turn}}}]}}\ncontacts: {{friction: {friction}}}\n"
        f"bodies: {{ball: {{mass: {M}, shapes: [{{type: sphere, radius: {R}}}], position: {place}, {ball}}}}}\n"
    )


def rolling_at(speed, spin=0.0):
    return f"velocity: {{linear: [{speed!r}, 0, 0], angular: [0, {speed / R!r}, {spin!r}]}}"


BALLS = (
    HEAD
    + "world: {shapes: [{type: plane}]}\n"
    + f"contacts: {{friction: {SURFACE}, restitution: 0.3}}\nbodies:\n"
    + "".join(
        f"  ball{k}: {{mass: {1 + 0.3 * k}, shapes: [{{type: sphere, radius: 0.05}}], position: {place}, "
        + f"velocity: {{linear: {[-0.4 * k, 0.1 * k, -0.2]}, angular: {[0.5 - k, -2 + k, 3 - 2 * k]}}}}}\n"
        for k, place in enumerate(([-0.1, 0, 0.05], [0.0005, 0, 0.05], [-0.05, 0.01, 0.139]))
    )
)

SCENES = {
    "rolls": on_plane(0.0, rolling_at(0.5)),
    "stops": on_plane(0.0, rolling_at(10.5 * H * DECELERATION, 8.5 * H * SPIN_DECELERATION)),
    "spins": on_plane(0.0, rolling_at(0.0, 40.5 * H * SPIN_DECELERATION)),
    "rests": on_plane(0.5 * THRESHOLD, "velocity: {}"),
    "nearly_rolls": on_plane((1.0 - 1e-9) * THRESHOLD, "velocity: {}"),
    "at_threshold": on_plane(THRESHOLD, "velocity: {}"),
    "rolls_down": on_plane(3.0 * THRESHOLD, "velocity: {}"),
    "slides": on_plane(0.0, "velocity: {linear: [2, 0, 0]}"),
    "still": on_plane(0.0, "velocity: {}"),
    "balls": BALLS,
}

METHOD = pytest.mark.parametrize("method", sorted(METHODS))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """The last instants of all scenes by all methods."""
    folder = tmp_path_factory.mktemp("rolling")
    paths = [folder / f"{name}.yaml" for name in SCENES]
    for path in paths:
        path.write_text(SCENES[path.stem])
    return last_instants(paths)


def rolled(run):
    return np.array(run["bodies/linear_velocity"][0]), np.array(run["bodies/angular_velocity"][0])


@METHOD
def test_a_ball_that_rolls_slows_down_in_proportion_to_its_weight(found, method):
    v, w = rolled(found["rolls", method])
    speed = 0.5 - DECELERATION * STEPS * H
    np.testing.assert_allclose(v, [speed, 0, 0], atol=1e-12)
    np.testing.assert_allclose(w, [0, speed / R, 0], atol=1e-11)
    lost = 0.5 * (M + INERTIA / R**2) * (0.25 - speed**2)
    assert found["rolls", method]["energy/dissipation/contacts/rolling"] == pytest.approx(lost, rel=1e-10)
    assert found["rolls", method]["energy/dissipation/contacts/friction"] == pytest.approx(0.0, abs=1e-12)


@METHOD
def test_a_ball_comes_to_rest_and_stays_there(found, method):
    run = found["stops", method]
    v, w = rolled(run)
    assert np.abs(v).max() < 1e-15
    assert np.abs(w).max() < 1e-14
    energy = 0.5 * (M + INERTIA / R**2) * (10.5 * H * DECELERATION) ** 2
    energy += 0.5 * INERTIA * (8.5 * H * SPIN_DECELERATION) ** 2
    assert run["energy/dissipation/contacts/rolling"] == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(run["moment_impulse"], [[0.0, 0.0, 0.0]], atol=1e-15)


@METHOD
def test_a_ball_that_spins_slows_down_about_its_normal(found, method):
    v, w = rolled(found["spins", method])
    assert np.abs(v).max() < 1e-14
    np.testing.assert_allclose(w, [0, 0, (40.5 - STEPS) * H * SPIN_DECELERATION], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        found["spins", method]["moment_impulse"], [[0, 0, -TORSIONAL * M * G * H]], rtol=1e-10, atol=1e-16
    )


@METHOD
@pytest.mark.parametrize("scene", ["rests", "nearly_rolls", "at_threshold", "still"])
def test_a_ball_on_a_slope_below_the_threshold_does_not_creep(found, scene, method):
    v, w = rolled(found[scene, method])
    assert np.abs(v).max() < 1e-15
    assert np.abs(w).max() < 1e-14
    assert found[scene, method]["mode"] == [1]


@METHOD
def test_a_ball_on_a_slope_above_the_threshold_rolls(found, method):
    angle = 3.0 * THRESHOLD
    speed = (math.sin(angle) - ROLLING / R * math.cos(angle)) * G / (1.0 + INERTIA / (M * R * R)) * STEPS * H
    v, w = rolled(found["rolls_down", method])
    np.testing.assert_allclose(v, [speed * math.cos(angle), 0, -speed * math.sin(angle)], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(w, [0, speed / R, 0], rtol=1e-10, atol=1e-12)


@METHOD
def test_a_ball_that_slides_is_slowed_down_by_both(found, method):
    v, w = rolled(found["slides", method])
    np.testing.assert_allclose(v, [2.0 - MU * G * STEPS * H, 0, 0], rtol=1e-10, atol=1e-12)
    turning = (MU * R - ROLLING) * M * G / INERTIA * STEPS * H
    np.testing.assert_allclose(w, [0, turning, 0], rtol=1e-10, atol=1e-11)


@METHOD
def test_all_methods_agree_about_balls_that_roll_on_each_other(found, method):
    run, expected = found["balls", method], found["balls", "redmax"]
    for name in ("bodies/linear_velocity", "bodies/angular_velocity"):
        np.testing.assert_allclose(run[name], expected[name], atol=1e-9)


def final(tmp_path, scene, *overrides):
    path = tmp_path / "scene.yaml"
    path.write_text(scene)
    sink = MemorySink()
    prepare(path, list(overrides)).run(sink)
    return sink.trajectory()


@pytest.mark.parametrize("scene", ["rolls", "stops", "spins", "rests", "rolls_down", "slides", "balls"])
def test_staggered_projections_agree(tmp_path, scene):
    runs = [
        final(tmp_path, SCENES[scene], f"contacts.method={solver}", "contacts.sleeping=false")
        for solver in ("proximal", "staggered_projections")
    ]
    for name in [path for path in runs[0].paths if path.endswith(("linear_velocity", "angular_velocity"))]:
        one, other = (run.channel(name).values for run in runs)
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_the_ledger_has_the_energy_that_impacts_friction_and_rolling_take(tmp_path):
    run = final(tmp_path, BALLS, "gravity=[0, 0, 0]")
    causes = [run.channel(f"energy/dissipation/contacts/{cause}").values for cause in ("impact", "friction", "rolling")]
    assert min(cause[-1] for cause in causes) > 1e-4
    kinetic = run.channel("energy/kinetic").values
    np.testing.assert_allclose(kinetic + sum(causes), kinetic[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("spin", "turn"), [([0.2, 6.8, 6.1], [-0.5, -0.3, -0.5]), ([7.9, 3.7, -4.8], [-0.2, -0.3, 2.4])]
)
def test_no_cause_of_dissipation_adds_energy(tmp_path, spin, turn):
    """In an elastic impact of a box with moments, friction adds the energy that these or the normal dissipate."""
    box = "shapes: [{type: box, size: [0.1, 0.08, 0.06]}], mass: 1, position: [0, 0, 0.08]"
    motion = f"rotation: {{rotvec: {turn}}}, velocity: {{linear: [0.5, 0, -1], angular: {spin}}}"
    scene = (
        f"{HEAD}world: {{shapes: [{{type: plane}}]}}\nbodies: {{box: {{{box}, {motion}}}}}\n"
        "contacts: {friction: {static: 0.5, rolling: 0.04, torsional: 0.06}, restitution: 1}\n"
    )
    steps = ("gravity=[0, 0, 0]", "simulation.duration=80 ms", "simulation.step=2 ms", "output.every=2 ms")
    run = final(tmp_path, scene, *steps)
    accounts = [
        run.channel(f"energy/dissipation/contacts/{cause}").values for cause in ("impact", "friction", "rolling")
    ]
    assert min(np.diff(account).min() for account in accounts) > -1e-9
