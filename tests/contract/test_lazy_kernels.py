"""Lazy kernels: compiled and loaded when they are first called, with the errors of a call from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.kernel import is_interpreted, kernel, lazy_kernel
from multibody_cli.kernel.functions import with_globals

ROOT = Path(__file__).parents[2]
compiled = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")

MODULE = """
import json, math, signal
import numpy as np
from multibody_cli.kernel import formula, kernel, kernel_parameter, lazy_kernel, lazy_template, bound_kernel
from multibody_cli.kernel import loading, workers
from multibody_cli.kernel.progress import observers

@lazy_kernel
def negate(x):
    for i in range(len(x)):
        x[i] = -x[i]

@lazy_kernel
def total(x, pair) -> float:
    sum = pair[0] - pair[1]
    for i in range(len(x)):
        sum += x[i]
    return sum

@lazy_kernel
def fail(x):
    x.no_such_attribute = 1

@lazy_kernel
def undeclared(x):
    return x[0]

@kernel_parameter
def change(x):
    ...

@lazy_template(change)
def change_twice(x):
    change(x)
    change(x)

@formula
def negated(x):
    negate(x)

negate_twice = bound_kernel(change_twice, change=negated)

@kernel
def choose_good(x, case):
    if case == 1:
        negate(x)
    elif case == 2:
        return total(x, (4.0, 1.0)) + total(x, (0.0, 0.0))
    elif case == 4:
        negate_twice(x)
    return 0.0

@kernel
def choose(x, case):
    if case == 3:
        fail(x)
    return choose_good(x, case)

@kernel
def call_undeclared(x):
    return undeclared(x)

@kernel
def call_good(x, case):
    return choose_good(x, case) + 1.0

@lazy_kernel
def negate_second(x):
    x[1] = -x[1]

@kernel
def spin(x, n):
    for i in range(n):
        x[0] = math.sin(x[0])
    if n > 10:
        negate_second(x)

def interrupted_spin(x):
    def stop(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, stop)
    spin(x, 10)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return attempt(spin, x, 20_000_000), x.tolist()

def attempt(call, *args):
    try:
        return call(*args)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"

def interrupt(progress):
    raise KeyboardInterrupt

def interrupt_once(progress):
    observers.clear()
    raise KeyboardInterrupt

def call(case, x, kernel=choose):
    before = len(workers._titles)
    result = attempt(kernel, x, case)
    return result, x.tolist(), [title.rpartition(".")[2] for title in workers._titles[before:]]

def call_complete(x, kernel):
    with loading.complete():
        return call(0, x, kernel)
"""
"""Kernels that call lazy ones."""


def run(folder: Path, script: str, **environment: str) -> Any:
    """Run a script after `MODULE`, with a cache in a folder, and return the object that it prints."""
    (folder / "lazies.py").write_text(MODULE, encoding="utf-8")
    variables = {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "MBSIM_CACHE_DIR": str(folder / "cache"),
        "NUMBA_DISABLE_JIT": "0",
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-c", f"from lazies import *\nprint(json.dumps({script}))"],
        env=variables, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cache in which the kernels have been compiled that cases 0 to 2 call."""
    folder: Path = tmp_path_factory.mktemp("lazy")
    x = "np.array([1.0, 2.0])"
    cases = run(folder, f"[call(case, {x}) for case in (0, 1, 1, 2, 2)]")
    nothing, negated, again, summed, last = cases
    assert nothing == [0.0, [1.0, 2.0], ["choose"]]
    assert negated == [0.0, [-1.0, -2.0], ["negate"]]
    assert again == [0.0, [-1.0, -2.0], []]
    assert summed == [3.0 + 3.0 + 3.0, [1.0, 2.0], ["total"]]
    assert last == [9.0, [1.0, 2.0], []]
    return folder


@compiled
def test_a_lazy_kernel_is_compiled_when_it_is_first_called(folder: Path) -> None:
    """The first process of the folder asserts it; a second one compiles nothing."""
    again = run(folder, "[call(case, np.ones(1)) for case in (0, 1, 2)]")
    assert again == [[0.0, [1.0], []], [0.0, [-1.0], []], [5.0, [1.0], []]]


@compiled
def test_an_error_in_a_lazy_kernel_is_that_of_the_call(folder: Path) -> None:
    """Also of the next call; other calls are not affected."""
    first, second, good = run(folder, "[call(case, np.ones(1)) for case in (3, 3, 1)]")
    assert first[0].startswith("KernelError: a kernel cannot be compiled: ")
    assert "no_such_attribute" in first[0]
    assert second[0] == first[0]
    assert good == [0.0, [-1.0], []]
    assert "a lazy kernel declares its result" in run(folder, "attempt(call_undeclared, np.ones(1))")


@compiled
def test_calls_with_missing_lazy_kernels_are_refused_where_compilation_is_forbidden(folder: Path) -> None:
    """Also those that would not call them: a run must not be refused in its middle."""
    (refused,) = run(folder, "[call(0, np.ones(1))]", MBSIM_COMPILE="never")
    assert refused[0].startswith("ArgumentError: kernels of this run are not in ")
    assert refused[1] == [1.0]


@compiled
def test_ctrl_c_is_raised_after_the_call_for_which_a_lazy_kernel_is_compiled(tmp_path: Path) -> None:
    script = "[observers.append(interrupt_once), call(1, np.ones(1)), call(1, np.ones(1))]"
    _, interrupted, again = run(tmp_path, f"[call(0, np.ones(1)), {script}][1]")
    assert interrupted == ["KeyboardInterrupt: ", [-1.0], ["negate"]]
    assert again == [0.0, [-1.0], []]


@compiled
def test_a_second_ctrl_c_ends_the_call(tmp_path: Path) -> None:
    script = "[observers.append(interrupt), call(1, np.ones(1)), observers.clear(), call(1, np.ones(1))]"
    _, interrupted, _, completed = run(tmp_path, f"[call(0, np.ones(1)), {script}][1]")
    assert interrupted[:2] == ["KeyboardInterrupt: ", [1.0]]
    assert completed[:2] == [0.0, [-1.0]]


@compiled
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_before_a_lazy_call_is_raised_after_the_call(tmp_path: Path) -> None:
    """Python raises its exception when compiled code calls Python, before the first line of the function."""
    result, x = run(tmp_path, "interrupted_spin(np.ones(2))")
    assert result == "KeyboardInterrupt: "
    assert x[1] == -1.0


@compiled
def test_complete_code_contains_the_lazy_kernels_that_it_may_call(tmp_path: Path) -> None:
    """Such code runs where compilation is forbidden."""
    good, again, refused = run(
        tmp_path, "[call_complete(np.ones(1), kernel) for kernel in (choose_good, choose_good, choose)]"
    )
    assert {*good[2]} == {"choose_good", "negate", "total", "change_twice"}
    assert again[2] == []
    assert "no_such_attribute" in refused[0]  # it belongs to the code of `choose`, and cannot be compiled
    found = run(tmp_path, "[call(case, np.ones(1), choose_good)[:2] for case in (0, 1, 2, 4)]", MBSIM_COMPILE="never")
    assert found == [[0.0, [1.0]], [0.0, [-1.0]], [5.0, [1.0]], [0.0, [1.0]]]


@compiled
def test_code_that_is_loaded_is_completed(tmp_path: Path) -> None:
    first, second = run(tmp_path, "[call(1, np.ones(1), choose_good), call_complete(np.ones(1), call_good)]")
    assert {*first[2]} == {"choose_good", "negate"}
    assert {*second[2]} == {"call_good", "total", "change_twice"}


@lazy_kernel
def _scale(x, factor):
    for i in range(len(x)):
        x[i] *= factor


@kernel
def _scale_by_two(x):
    _scale(x, 2.0)


def test_the_digest_of_a_caller_covers_that_a_kernel_is_lazy() -> None:
    """Its code calls the kernel in another way."""
    eager = kernel(_scale.py_func)
    eager.inlined = False  # as if it were larger
    callers = [kernel(with_globals(_scale_by_two.py_func, {"_scale": one})) for one in (eager, _scale)]
    assert len({caller.reach.digest for caller in callers}) == 2


def test_lazy_kernels_run_as_plain_python_and_are_called_from_python() -> None:
    x = np.ones(2)
    _scale_by_two(x)
    _scale(x, 3.0)
    assert x.tolist() == [6.0, 6.0]
