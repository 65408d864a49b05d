"""Many runs at once, in one folder and with one empty cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from multibody_cli.kernel import KernelError, is_interpreted, store, workers
from multibody_cli.kernel.progress import CompilationProgress
from multibody_cli.kernel.store import Code
from multibody_cli.kernel.tasks import Task
from multibody_cli.kernel.workers import compile_all

ROOT = Path(__file__).parents[2]
RUNS = 8

DEPTH = 20
"""Levels of calls of the kernels below."""


class OthersCompile:
    """A session in which other processes compile everything, one level of calls at a time."""

    keeps_code = True

    def __init__(self, jobs: int) -> None:
        self.progress = CompilationProgress()
        self.tasks: list[Task] = []

    def add(self, task: Task) -> None:
        self.tasks.append(task)

    def run(self) -> None:
        for task in self.tasks if self.keeps_code else []:
            level = int(task.symbol[1:])
            callee = (f"k{level + 1}",) if level < DEPTH else ()
            assert store.keep(Code(task.symbol, b"code", callee, ("cmVjaXBl",) * len(callee)))
        self.tasks.clear()


@pytest.mark.parametrize("keeps_code", [True, False])
def test_a_process_waits_for_all_levels_of_calls_that_others_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps_code: bool
) -> None:
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("MBSIM_COMPILE", raising=False)
    monkeypatch.setattr(workers, "_Session", OthersCompile)
    monkeypatch.setattr(OthersCompile, "keeps_code", keeps_code)
    if keeps_code:
        compile_all([Task("k0", b"recipe")])
        assert store.find(f"k{DEPTH}") is not None
    else:
        with pytest.raises(KernelError, match="compiled code disappears during compilation"):
            compile_all([Task("k0", b"recipe")])


COUNT_FILES = """
import os
replace = os.replace

def counted(source, target):
    replace(source, target)
    with open({log!r}, "a") as log:
        log.write(os.path.basename(target) + "\\n")

os.replace = counted
"""
"""Executed at the start of every process, compiling ones included: notes the names of all files that are renamed."""


@pytest.mark.nightly
@pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")
@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_many_runs_at_once_agree_and_compile_each_kernel_once(tmp_path: Path) -> None:
    """`MBSIM_TEST_RUNS` is another number of runs."""
    count, log = int(os.environ.get("MBSIM_TEST_RUNS", RUNS)), tmp_path / "log"
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(COUNT_FILES.format(log=str(log)))
    for name in ("results", "tmp"):
        (tmp_path / name).mkdir()
    scene = ROOT / "scenes" / "gallery" / "revolute_joint.yaml"
    short = ["--set", "simulation.duration=10 ms", "--set", "expect=[]", "--set", "output={}"]
    environment = {
        **os.environ,
        "MBSIM_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "start"), str(ROOT)]),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "multibody_cli", "run", str(scene), *short, "-o", f"run{k}.h5"],
            env=environment,
            cwd=tmp_path / "results",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(count)
    ]
    said = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0] * count, said
    results = tmp_path / "results"
    assert len({(results / f"run{k}.h5").read_bytes() for k in range(count)}) == 1
    # a run that waited for compilation for more than 10 s keeps the checkpoint of its end
    assert {path.suffix for path in results.iterdir()} <= {".h5", ".ckpt"}
    assert list((tmp_path / "tmp").iterdir()) == []
    kept = {path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    written = Counter(name for name in log.read_text().split() if not name.startswith("run"))
    assert set(written) == kept
    assert {name for name, times in written.items() if times > 1} == set()
