"""Settings of Hypothesis for all tests, and the tier of each test.

    pure      calls no kernel
    plain     runs kernels as plain Python, in this process
    compiled  runs compiled kernels
    nightly   the full matrix of which `compiled` runs samples; the schedule of continuous integration runs it

A test of the first two tiers that asks for compiled code fails.  NumPy uses one thread, as in the program: threads that
wait for each other would take most of the time of small matrices.  Python keeps its bytecode in any
environment: the hundreds of processes that tests start would each spend most of their time on that of the package.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from multibody_cli.cli.app import use_one_blas_thread

use_one_blas_thread()  # which counts before the import of NumPy only
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from multibody_cli.kernel import Kernel, interpreted, is_interpreted
from multibody_cli.symbolic import generated

settings.register_profile(
    "mbsim",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("mbsim")

TESTS = Path(__file__).parent
PURE = {
    *("architecture", "comparison", "expressions", "meshes", "output", "pictures", "scene", "spec"),
    *("joints/test_specs.py", "regression/test_mutate.py", "unit/test_bench_analysis.py", "unit/test_elimination.py"),
    *(
        "sweep/test_designs.py",
        "render/test_binary.py",
        "foreign/test_ledger.py",
        "unit/test_allocation.py",
        "unit/test_mass.py",
    ),
}
"""Folders and files of pure tests."""

CALLING_KERNELS = {
    *(
        "scene/test_assembly.py",
        "scene/test_starts_of_loop_joints.py",
        "scene/test_starts_of_followers.py",
        "scene/test_joint_regularity.py",
        "scene/test_body_kind_checks.py",
    ),
    *("scene/test_mesh_contacts.py", "scene/test_overlap.py", "scene/test_scene_channels.py"),
}
"""Files in pure folders that are compiled ones."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Refuse to compile while tests are collected: the processes that do so need the folders of all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MBSIM_COMPILE", "never")
        return (yield)


def tier_of(place: Path) -> str:
    """Return the tier of a file of tests."""
    if place.parts[0] == "plain":
        return "plain"
    if place.as_posix() in CALLING_KERNELS:
        return "compiled"
    return "pure" if place.parts[0] in PURE or place.as_posix() in PURE else "compiled"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier, if it does not say so itself."""
    for item in items:
        place = item.path.relative_to(TESTS)
        if not any(item.get_closest_marker(tier) for tier in ("pure", "plain", "compiled")):
            item.add_marker(tier_of(place))


def pytest_collection_finish() -> None:
    """Let garbage collections pass over the thousands of tests, which live until the end."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _in_its_tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run plain tests without compiled code, and let pure ones have no kernels at all."""
    if request.node.get_closest_marker("plain"):
        with interpreted():
            yield
        return
    if request.node.get_closest_marker("pure") and not is_interpreted():
        monkeypatch.setattr(Kernel, "__call__", _refuse)
        monkeypatch.setattr(generated, "generated_code", _refuse)
    yield


def _refuse(*_args: object) -> None:
    raise AssertionError(
        "a test of the tier `pure` called a kernel: mark it `compiled`, or name its file in conftest.py"
    )
