"""Hooks into numba: the page names each of them, and its statements about them hold for the installed version."""

from __future__ import annotations

import ast
import operator
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from multibody_cli.errors import MbsimError
from multibody_cli.kernel import is_interpreted, kernel
from multibody_cli.spatial.values import Mat3, Vec3

ROOT = Path(__file__).parents[2]
compiled = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")


class Hooks(NamedTuple):
    """Uses of numba by a module: imported modules and names, and attributes of imported modules."""

    imported: set[str]
    attributes: set[str]


def hooks_of(path: Path) -> Hooks:
    """Read a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.asname or one.name: one.name for one in node.names if one.name.partition(".")[0] == "numba"}
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "numba":
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
    }
    return Hooks({*names.values()} - {"numba"}, attributes)


def test_the_page_names_every_hook() -> None:
    page = (ROOT / "docs" / "numba-releases.md").read_text(encoding="utf-8")
    named = {word for words in re.findall(r"`([\w.]+)`", page) for word in (words, *words.split("."))}
    modules = {word for word in named if word.startswith("numba.")}
    found = [hooks_of(path) for path in (ROOT / "multibody_cli" / "kernel").rglob("*.py")]
    imported = set[str]().union(*(one.imported for one in found))
    assert len(imported) > 25
    for hook in imported:
        module, _, name = hook.rpartition(".")
        assert hook in modules or (module in modules and name in named), f"{hook} has no place on the page"
    for name in set[str]().union(*(one.attributes for one in found)):
        assert name.strip("_") in named or name in named, f"{name} has no place on the page"


def test_every_test_of_the_page_exists() -> None:
    page = (ROOT / "docs" / "numba-releases.md").read_text(encoding="utf-8")
    files = " ".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    for name in set(re.findall(r"`(test_\w+)`", page)):
        assert f"def {name}(" in files, name


@compiled
def test_passes_are_in_the_order_of_numba() -> None:
    """A pass that numba moved may need another one before it."""
    from numba.core import compiler, untyped_passes

    from multibody_cli.kernel.compiler.pipeline import PASSES

    builder = compiler.DefaultPassBuilder
    state = type("State", (dict,), {"__getattr__": dict.__getitem__})(flags=compiler.Flags(), func_ir=None)
    makers = (builder.define_untyped_pipeline, builder.define_typed_pipeline, builder.define_nopython_lowering_pipeline)
    order = [untyped_passes.ExtractByteCode] + [one for make in makers for one, _ in make(state).passes]
    places = iter(order)
    assert all(one in places for one in PASSES)


@compiled
def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from multibody_cli.kernel.compiler import contexts

    for version in ("0.60.1", "0.69.0rc1", "1.0.0"):
        monkeypatch.setattr(contexts.numba, "__version__", version)
        with pytest.raises(MbsimError, match=r"versions from 0\.61 up to 0\.69, not included, can"):
            contexts._new_contexts.__wrapped__()


OTHERS = """
import operator
from numba import njit
from numba.core.registry import cpu_target
from multibody_cli.kernel import kernel

@kernel
def doubled(x):
    return 2.0 * x

@njit
def tripled(x):
    return 3.0 * x

before = {**vars(cpu_target)}
assert doubled(2.0) == 4.0
assert {**vars(cpu_target)} == before
assert tripled(2.0) == 6.0
assert doubled(3) == 6.0
"""


@compiled
def test_other_users_of_numba_are_not_affected() -> None:
    """A kernel of a script is compiled in the process that runs it."""
    subprocess.run([sys.executable, "-c", OTHERS], check=True, cwd=ROOT)


@kernel
def _combined(a: Any, b: Any, rows: Any) -> Any:
    return (a + b) - 2.0 * (-a), rows @ b


@compiled
def test_operators_of_values_are_compiled() -> None:
    a, b = Vec3(1.0, 2.0, 3.0), Vec3(0.5, -1.0, 4.0)
    combined, product = _combined(a, b, Mat3(a, b, Vec3(1.0, 0.0, 0.0)))
    assert combined == tuple(map(operator.add, (3.0, 6.0, 9.0), b))
    assert product == (0.5 * 1.0 - 0.5 + 4.0, 0.5 * 2.0 + 1.0, 0.5 * 3.0 - 4.0)  # the columns times the components
