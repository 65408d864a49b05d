"""All methods at and near special positions: they agree with a dense formulation, and with each other in motion.

The test of the tier `nightly` is a campaign of a fiftieth of `MBSIM_FUZZ` mechanisms, with six methods each.  With `-s`
it reports how many positions were regular, and how many variational runs ended:

    MBSIM_FUZZ=100000 python -m pytest tests/physics/test_special_positions.py -m nightly -s
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from loops import Run, accelerations_of, oracle_of, start
from structured import CLOSING, structured_loops

from multibody_cli.kernel import interpreted
from multibody_cli.methods.contract import Status

BY_ACCELERATION = ("aba", "redmax", "baraff")
VARIATIONAL = ("variational", "variational_maximal")
CAMPAIGN = int(os.environ.get("MBSIM_FUZZ", "10000")) // 50

NEARLY_DEPENDENT = 1e-3
"""Difference of accelerations that is allowed where rows are dependent up to 1e-5, of the largest one.

Their multipliers keep few digits there (`linalg.pivoted_lu`).  A row that is left out causes differences of 1.
"""

CONTRADICTORY = 1e-6
"""Error of the dense equations of motion from which no accelerations satisfy all rows."""

STEP, STEPS = 1e-3, 5
DIFFERENCE = 2e-4
"""Difference of velocities after these steps, of the largest acceleration in 1 s: a row left out causes 5e-3."""


def velocities_of(run: Run) -> np.ndarray:
    samples = run.observed()
    return np.concatenate([samples.linear_velocity[0].ravel(), samples.angular_velocity[0].ravel()])


def examine(seed: int, methods: tuple[str, ...]) -> list[str]:
    """Compare methods on the mechanism of a seed; return whether the position is regular, and the methods that ended.

    In a regular position all methods agree with the dense formulation, and after a few steps the others with `aba`; in
    any, the start satisfies all rows.  A variational step may have no solution, and prescribed accelerations may
    contradict each other, so that accelerations are those of least squares and diverge, which the run reports.
    """
    machine = structured_loops(seed, CLOSING[seed % len(CLOSING)])
    found, reference, size = [], None, 1.0
    for method in methods:
        with interpreted() if method == "symbolic" else nullcontext():  # its code would be compiled for each mechanism
            run = start(machine.scene, method, step=STEP)
            if method not in VARIATIONAL:
                loops, v = oracle_of(run)
                error, G, _ = loops.rows(v)
                expected, a = loops.solve(v, machine.given(0.0)), accelerations_of(run, loops)
                size = 1.0 + np.abs(expected.a).max()
                kind = "contradictory" if expected.residual > CONTRADICTORY else "singular"
                found = found or ["regular" if expected.is_sharp else kind]
                assert np.abs(error).max(initial=0.0) < 1e-9
                assert np.abs(G @ v).max(initial=0.0) < 1e-6 * size
                assert np.isfinite(a).all()
                if found[0] == "regular":
                    np.testing.assert_allclose(a, expected.a, rtol=0, atol=NEARLY_DEPENDENT * size, err_msg=method)
            if method == "symbolic":
                continue
            status = run.method.advance(run.state, STEP * STEPS).status
        if status is not Status.OK:
            assert method in VARIATIONAL or found[0] == "contradictory"
            found.append(method)
        elif reference is None:
            reference = velocities_of(run)
        elif found[0] == "regular":
            np.testing.assert_allclose(velocities_of(run), reference, rtol=0, atol=DIFFERENCE * size, err_msg=method)
    return found


@pytest.mark.parametrize("seed", range(2 * len(CLOSING)))
def test_methods_agree_in_special_positions(seed):
    """Two mechanisms for each joint that closes a loop."""
    found = examine(seed, (*BY_ACCELERATION, *(("symbolic",) if seed % 8 == 0 else ()), *VARIATIONAL))
    assert found[0] != "regular" or len(found) == 1


def test_the_selection_contains_special_positions_of_each_kind():
    """Prescribed joints in loops and in the tree, coincident points, two loops, mechanisms at rest; most regular."""
    found: Counter[str] = Counter()
    for seed in range(2 * len(CLOSING)):
        machine = structured_loops(seed, CLOSING[seed % len(CLOSING)])
        joints = machine.scene["joints"]
        found["drive in a loop"] += any(name.startswith("loop") for name, _ in machine.drivers)
        found["drive in the tree"] += any(name.startswith("j") for name, _ in machine.drivers)
        found["coincident"] += any(joint["origin"]["position"] == [0.0, 0.0, 0.0] for joint in joints.values())
        found["two loops"] += "loop2" in joints
        found["at rest"] += all(not np.any(joint.get("v", 0.0)) for joint in joints.values() if "motion" not in joint)
        loops, v = oracle_of(start(machine.scene, "aba", step=STEP))
        found["regular"] += loops.solve(v, machine.given(0.0)).is_sharp
    assert min(found.values()) > 1, found
    assert found["regular"] > len(CLOSING), found


@pytest.mark.nightly
def test_a_campaign_of_special_positions():
    found, failures = Counter[str](), []
    for seed in range(1000, 1000 + CAMPAIGN):
        try:
            found.update(examine(seed, (*BY_ACCELERATION, "symbolic", *VARIATIONAL)))
        except Exception as error:  # all of them are reported together
            failures.append(f"seed {seed}: {error}")
    print(f"{CAMPAIGN} mechanisms, six methods: {dict(found)}, {len(failures)} failures")
    assert not failures, "\n".join(failures)
    assert found["regular"] > 0.5 * CAMPAIGN
