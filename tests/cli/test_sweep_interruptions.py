"""Sweeps that are killed or interrupted: no row is lost or computed twice, and the table has the same bytes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.output.sweep_table import SweepTable

Start = Callable[..., subprocess.Popen[str]]
RUNS = 100
SWEEP = ("sweep", "pendulum.yaml", "--vary", "vars.angle=uniform(1 deg, 9 deg)", "--samples")
WORDS = (*SWEEP, RUNS)
ROWS = Path("outputs/pendulum-sweep.h5.rows")
TABLE = Path("outputs/pendulum-sweep.h5")


def rows_written() -> list[int]:
    """Return the numbers of the complete rows, in the order in which they were written."""
    if not ROWS.exists():
        return []
    lines = [line for line in ROWS.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    contents = [json.loads(line.partition(b" ")[2]) for line in lines]
    return [run for one in contents for run in one.get("runs", ())]


def wait_for_rows(process: subprocess.Popen[str], count: int) -> None:
    """Wait until a sweep has written a number of rows, or has ended."""
    while len(rows_written()) < count and process.poll() is None:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("choice", "kills", "runs"),
    [
        ("--no-lanes", 2, RUNS),
        ("--lanes", 2, 2 * RUNS),
        pytest.param("--no-lanes", 20, 240, marks=pytest.mark.nightly),
        pytest.param("--lanes", 20, 4000, marks=pytest.mark.nightly),
    ],
)
def test_a_sweep_that_is_killed_at_random_has_the_same_table(
    start: Start, folder: Path, choice: str, kills: int, runs: int
) -> None:
    words, chance, done = (*SWEEP, runs, choice), random.Random(kills), 0
    for _ in range(kills):
        process = start(*words)
        wait_for_rows(process, done + chance.randrange(runs // kills - 5) + 1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if not ROWS.exists():
            done = runs  # the table was written before the signal
            break
        rows = rows_written()
        assert len(set(rows)) == len(rows) >= done
        done = len(rows)
    last = start(*words, "--json")
    summary = json.loads(last.communicate(timeout=300)[0])
    assert last.returncode == 0
    assert summary["rows"] == runs
    assert summary["executed"] == runs - done
    assert not ROWS.exists()
    assert start(*words, "-o", "whole.h5", "--jobs", 1).wait(timeout=300) == 0
    assert TABLE.read_bytes() == Path("whole.h5").read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sweep_has_a_table_of_its_rows(start: Start, folder: Path, number: int, code: int) -> None:
    process = start(*WORDS, "--json")
    wait_for_rows(process, 5)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code == json.loads(out)["exit_code"]
    assert "interrupted: the same command completes the sweep" in err
    table, rows = SweepTable(TABLE), rows_written()
    assert 5 <= table.count < RUNS
    assert table.attributes["status"] == "interrupted"
    assert table.read("run").tolist() == sorted(rows)
    assert np.isfinite(table.read("joints/hinge/q final")).all()
    again = start(*WORDS)
    assert again.wait(timeout=300) == 0
    assert SweepTable(TABLE).attributes["status"] == "complete"
    assert SweepTable(TABLE).read("run").tolist() == list(range(RUNS))


def test_a_worker_that_is_killed_loses_nothing(start: Start, folder: Path) -> None:
    process = start(*WORDS, "--jobs", 2, "--json")
    wait_for_rows(process, 5)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("the system does not list the children of a process")
    for child in children.read_text().split()[:1]:
        subprocess.run(["kill", "-KILL", child], check=True)
    assert json.loads(process.communicate(timeout=300)[0])["statuses"] == {"complete": RUNS}
    assert SweepTable(TABLE).read("run").tolist() == list(range(RUNS))


def test_two_sweeps_do_not_write_one_table(start: Start, folder: Path) -> None:
    first = start(*WORDS, "--no-lanes", "--jobs", 1)
    wait_for_rows(first, 1)
    first.send_signal(signal.SIGSTOP)  # the first sweep cannot end before the second has started
    try:
        assert 1 <= len(rows_written()) < RUNS
        second = start(*WORDS)
        _, err = second.communicate(timeout=60)
    finally:
        first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "is written by another sweep" in err
    assert first.wait(timeout=300) == 0
    assert SweepTable(TABLE).read("run").tolist() == list(range(RUNS))


CLUSTER = """
import json, os, signal, subprocess, sys, time
from pathlib import Path

from distributed import LocalCluster


def written(rows):
    lines = [line for line in rows.open("rb") if line.endswith(b"\\n")] if rows.exists() else []
    return sum(len(json.loads(line.partition(b" ")[2]).get("runs", ())) for line in lines)


if __name__ == "__main__":
    words = sys.argv[1:]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        sweep = [sys.executable, "-m", "multibody_cli", *words, "--dask", cluster.scheduler_address, "--json"]
        process = subprocess.Popen(sweep, stdout=subprocess.PIPE)
        rows = Path("outputs/pendulum-sweep.h5.rows")
        while process.poll() is None and written(rows) <= 10:
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)
        print(json.dumps(json.loads(process.communicate()[0])))
"""


def test_a_cluster_that_loses_a_worker_has_every_row_once(start: Start, folder: Path) -> None:
    pytest.importorskip("distributed")
    (folder / "cluster.py").write_text(CLUSTER)
    process = start(*WORDS, program=["cluster.py"])
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    summary = json.loads(out.splitlines()[-1])
    assert (summary["executed"], summary["statuses"]) == (RUNS, {"complete": RUNS})
    assert start(*WORDS, "-o", "local.h5").wait(timeout=300) == 0
    assert TABLE.read_bytes() == Path("local.h5").read_bytes()


def test_a_cluster_that_is_not_there_is_refused(start: Start, folder: Path) -> None:
    pytest.importorskip("distributed")
    program = "import multibody_cli.studies.sweep.cluster as c; c.PATIENCE = 0.5\n"
    program += "from multibody_cli.cli.app import main; main()"
    process = start(*WORDS, "--dask", "tcp://127.0.0.1:9", program=["-c", program])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--dask tcp://127.0.0.1:9: cannot connect to a scheduler" in err


def test_distributed_is_imported_for_a_cluster_only(start: Start, folder: Path) -> None:
    program = "import sys, atexit, os\nfrom multibody_cli.cli import app\n"
    program += "code = app._run(None)\nassert 'distributed' not in sys.modules and code == 0, code\n"
    few = [*WORDS[:3], "vars.angle=1 deg, 2 deg"]
    assert start(*few, program=["-c", program]).wait(timeout=120) == 0
    assert sys.executable
