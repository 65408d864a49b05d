"""Scenes of smooth motion, loops and limits meet their expectations with variational steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from multibody_cli.cli.app import main

VALIDATION = Path(__file__).parents[2] / "scenes/validation"

STEPS: dict[str, tuple[int, str]] = {
    "ball_chain_2": (6, "10 ms"),
    "bead_bspline": (6, "${T/500}"),
    "bead_cycloid": (6, "${T/100}"),
    "bead_helix": (6, "5 ms"),
    "compound_pendulum_period": (4, "1 ms"),
    "double_pendulum_rods": (6, "2 ms"),
    "dzhanibekov_analytic": (4, "5 ms"),
    "dzhanibekov_num": (4, "2 ms"),
    "fourbar_parallelogram": (2, "1 ms"),
    "gear_pair": (6, "2 ms"),
    "hooke_joint": (4, "0.1 ms"),
    "iftomm_a01_pendulum": (4, "10 ms"),
    "iftomm_a02_nfourbar_N1": (2, "0.5 ms"),
    "iftomm_a02_nfourbar_N2": (2, "0.2 ms"),
    "iftomm_a03_andrews_t003": (6, "0.05 ms"),
    "iftomm_a04_bricard_slender": (4, "10 ms"),
    "knife_edge_incline": (4, "1 ms"),
    "lagrange_top_cusp": (4, "0.2 ms"),
    "lagrange_top_steady": (4, "0.2 ms"),
    "muscle_pendulum": (4, "0.2 ms"),
    "rack_pinion": (6, "1 ms"),
    "rc10_chain": (4, "10 ms"),
    "rc20_chain": (4, "10 ms"),
    "rc100_chain": (2, "1 ms"),
    "redmax_joint": (6, "2 ms"),
    "redmax_rigid": (6, "10 ms"),
    "redmax_scene_0": (6, "1 ms"),
    "redmax_scene_1": (6, "5 ms"),
    "redmax_scene_2": (6, "2 ms"),
    "redmax_scene_3": (6, "2 ms"),
    "redmax_scene_4": (4, "10 ms"),
    "redmax_scene_5": (6, "10 ms"),
    "redmax_scene_6": (2, "2 ms"),
    "redmax_scene_7": (6, "5 ms"),
    "redmax_scene_8": (6, "10 ms"),
    "redmax_scene_9": (6, "2 ms"),
    "redmax_scene_10": (4, "0.5 ms"),
    "redmax_scene_11": (4, "2 ms"),
    "redmax_scene_12": (6, "1 ms"),
    "redmax_scene_13": (6, "10 ms"),
    "redmax_scene_13_rates": (6, "1 ms"),
    "redmax_scene_14": (6, "2 ms"),
    "redmax_scene_15": (6, "5 ms"),
    "redmax_scene_16": (6, "10 ms"),
    "redmax_scene_17": (6, "10 ms"),
    "redmax_scene_18": (6, "10 ms"),
    "redmax_scene_19": (6, "5 ms"),
    "redmax_scene_20": (6, "10 ms"),
    "redmax_scene_21": (6, "0.5 ms"),
    "redmax_scene_22": (6, "2 ms"),
    "redmax_scene_23": (6, "2 ms"),
    "redmax_scene_24": (6, "2 ms"),
    "redmax_scene_24_damped": (4, "0.1 ms"),
    "redmax_scene_25": (6, "10 ms"),
    "redmax_scene_26": (6, "2 ms"),
    "redmax_scene_34": (6, "10 ms"),
    "redmax_scene_35": (6, "10 ms"),
    "redmax_scene_m1": (6, "5 ms"),
    "slider_crank_free_spin": (4, "0.1 ms"),
    "sphere_roll_incline": (2, "10 ms"),
    "sphere_sphere_joint": (6, "10 ms"),
    "spherical_pendulum": (4, "1 ms"),
    "spline_curve_one_body": (6, "2 ms"),
    "spline_surface_one_body": (6, "5 ms"),
    "spring_damper_1d": (4, "0.1 ms"),
    "testset_caraxis": (4, "1 ms"),
    "torque_free_top": (4, "10 ms"),
    "torus_geodesic": (6, "10 ms"),
}
"""The order and the step by which a scene meets all that it expects: the longest of 10, 5, 2, 1, ... ms, or near it."""

LEDGERS = {
    "bead_bspline": "1e-6 J",
    "muscle_pendulum": "5e-6 J",
    "redmax_scene_10": "2e-9 J",
    "redmax_scene_11": "2e-10 J",
    "redmax_scene_9": "2 J",
    "redmax_scene_24_damped": "1e-9 J",
    "spring_damper_1d": "2e-7 J",
}
"""Residuals that the balance of energy may have.

Of forces that depend on velocities, and of given motions, the work is known to second order: 2 of 28,000 J in
scene 9.  At the ends of the pieces of a spline its third derivative jumps, and a step across one is of no
higher order than that.
"""

TOLERANCES = {"bead_cycloid": "1e-12"}
"""The tolerance of the steps, where corrections of 1e-10 of the rates leave more than the scene allows the ledger."""

MAXIMAL = [
    pytest.param(scene, marks=[] if k % 2 == 0 else [pytest.mark.nightly]) for k, scene in enumerate(sorted(STEPS))
]
"""Every scene; every other one nightly."""

WITHOUT_INERTIA = ("iftomm_a01_pendulum", "iftomm_a04_bricard_slender", "spherical_pendulum", "torus_geodesic")


def words_for(scene: str) -> list[str]:
    """Order and step, and the bound of the balance of energy."""
    order, step = STEPS[scene]
    ledger = ["--set", f"expect[0].energy_drift.max={LEDGERS[scene]}"] if scene in LEDGERS else []
    tolerance = ["--set", f"simulation.options.tolerance={TOLERANCES[scene]}"] if scene in TOLERANCES else []
    return ["--set", f"simulation.options.order={order}", "--step", step, *ledger, *tolerance]


def run(scene: str, method: str, result: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of the command line: 0 if all expectations are met."""
    path = VALIDATION / f"{scene}.yaml"
    words = ["mbsim", "run", str(path), "--method", method, *words_for(scene), "-o", str(result)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.mark.parametrize("scene", STEPS)
def test_scene_meets_its_expectations_in_generalized_coordinates(
    scene: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(scene, "variational", tmp_path / "result.h5", monkeypatch) == 0


@pytest.mark.parametrize("scene", MAXIMAL)
def test_scene_meets_its_expectations_in_maximal_coordinates(
    scene: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bodies without inertia are refused, in words."""
    code = run(scene, "variational_maximal", tmp_path / "result.h5", monkeypatch)
    if scene in WITHOUT_INERTIA:
        assert code == 2
        assert "has no mass or a moment of inertia that is not positive" in capsys.readouterr().err
    else:
        assert code == 0
