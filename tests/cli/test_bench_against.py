"""`mbsim bench`: batches of runs, and other simulators on the same scene."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_result import Command

from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import PeerKind
from multibody_cli.studies.bench import batches


# --- batches ----------------------------------------------------------------------------------------------------------
def test_a_batch_beside_single_runs_and_a_peer(mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.setattr(batches, "SHORTEST_BATCH", 0.001)
    options = ("--batch", "20", "--duration", "0.1 s", "--against", "mujoco", "--repeat", "2")
    ending = mbsim("bench", chain, *options, "--json", "bench.json")
    assert ending.code == 0
    table = ending.stdout[ending.stdout.index("Batches of runs") :]
    assert [word in table for word in ("batch", "single runs", "mujoco", "batch is faster by")] == [True] * 4
    [found] = json.loads(Path("bench.json").read_text())["batches"]
    assert (found["runs"], found["steps"], found["in_lanes"], found["reason"]) == (20, 100, 20, "")
    assert found["batch"]["count"] == 2000
    for cost, ratio in (found["single"], found["peers"]["mujoco"]):
        assert cost["median"] > 0.0
        assert ratio > 0.0


def test_a_batch_of_single_runs_has_a_reason(mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SHORTEST_BATCH", 0.001)
    options = ("--batch", "3", "--duration", "10 ms", "--integrator", "sdirk2", "--repeat", "1")
    ending = mbsim("bench", chain, *options)
    assert ending.code == 0
    assert "because lanes do not support integrators other than semi_implicit_euler, heun and rk4" in ending.stdout


def test_a_batch_of_one_run_is_refused(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--batch", "1")
    assert (ending.code, ending.stdout) == (2, "")
    assert "--batch: expected at least 2, found `1`" in ending.stderr


# --- peers ------------------------------------------------------------------------------------------------------------
def test_a_peer_whose_package_is_missing_is_refused_at_once(
    mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multibody_cli.studies.bench.against.find_spec", lambda _: None)
    ending = mbsim("bench", chain, "--against", "mujoco")
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr == "error: `mujoco` cannot be imported: pip install mujoco\n"


def test_a_peer_with_different_accelerations_ends_with_1(
    mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Still:
        def accelerations(self) -> np.ndarray:
            return np.zeros(2)

    kind = PeerKind("still", "numpy", "numpy", lambda _: Still(), {}, "nothing")
    monkeypatch.setitem(PEERS, "still", kind)
    ending = mbsim("bench", chain, "--against", "still", "--repeat", "1")
    assert ending.code == 1
    assert "differs" in ending.stdout
    assert ending.stderr.endswith(
        f"error: still {np.__version__}: chain: not timed: accelerations differ by 1.0e+00 of the largest, "
        "more than 1e-06\n"
    )


def test_a_scene_that_no_peer_supports_is_refused(mbsim: Command, chain: str) -> None:
    pytest.importorskip("mujoco")
    ending = mbsim("bench", chain, "--against", "mujoco", "--set", "joints.joint0.damping=1", "--repeat", "1")
    assert ending.code == 2
    assert ending.stderr.endswith(
        "error: no peer supports the scene: peers support only joints, loops of hinges and balls, and contacts under "
        "gravity, and this scene has springs or dampers of joints\n"
    )
