"""Regression detects a flipped sign of a kernel: from the source of the kernel to the report of `mbsim regress`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mutants import mutants_of

ROOT = Path(__file__).parents[2]
FILE = "forces/joint_control.py"
CHANGE = "tau[control.iv] += force  ->  tau[control.iv] -= force"


def test_a_flipped_sign_is_reported_with_its_first_instant(tmp_path: Path) -> None:
    """A rotor of 0.4 kg m^2 driven by 2 N*m/s t, the wrong way: w = -0.1 rad/s at 0.2 s, where w^2 I / 2 = 0.002 J.

    Kernels are left uncompiled, which saves a minute and changes nothing about the sign.
    """
    shutil.copytree(ROOT / "multibody_cli", tmp_path / "multibody_cli", ignore=shutil.ignore_patterns("__pycache__"))
    kernel = tmp_path / "multibody_cli" / FILE
    text = kernel.read_text(encoding="utf-8")
    (mutant,) = (mutant for mutant in mutants_of(FILE, text) if mutant.described(text) == CHANGE)
    kernel.write_text(mutant.applied(text), encoding="utf-8")
    scene, baselines = ROOT / "scenes" / "gallery" / "actuator_table.yaml", ROOT / "tests" / "regression" / "baselines"
    done = subprocess.run(
        [sys.executable, "-m", "multibody_cli", "regress", scene, "--baseline", baselines, "--method", "aba", "-v"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "at t = 0.2 s, input energy/work/joints/axle/force is -0.002 instead of 0.002 J" in done.stdout
