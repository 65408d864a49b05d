"""Rules of the code base that can be checked automatically."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import multibody_cli

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "multibody_cli"
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNEL_DECORATORS = {"kernel", "formula", "template"}
LONGEST = 400

modules = pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def compiled_functions(tree: ast.Module):
    """Functions decorated with `kernel`, `formula` or `template`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = {ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list}
            if names & KERNEL_DECORATORS:
                yield node


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def tool(name: str) -> str:
    """A program beside the Python that runs the tests."""
    return str(Path(sys.executable).parent / name)


@pytest.mark.parametrize(
    "command",
    [
        ("lint-imports", "--no-cache"),
        ("ruff", "check", "--no-cache", "multibody_cli", "tests"),
        ("ruff", "format", "--no-cache", "--check", "multibody_cli", "tests"),
        pytest.param(("mypy",), marks=pytest.mark.nightly),  # a minute; continuous integration runs it on each change
    ],
    ids=["imports point downward", "ruff check", "ruff format", "mypy"],
)
def test_linters_report_no_problems(command):
    done = run(tool(command[0]), *command[1:])
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_every_public_name_can_be_imported():
    assert all(getattr(multibody_cli, name) is not None for name in multibody_cli.__all__)


def imports_of(path: Path, names: set[str]) -> set[str]:
    """Modules of the package that a module imports at its top level, for type checking too."""

    def statements(node: ast.AST):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef):
                yield child
                yield from statements(child)

    found = set()
    for node in statements(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in names else node.module)
    return found & names


def test_modules_import_without_circles():
    """A function may import a module of its own package that imports it back; nothing else may."""
    names = {
        ".".join(("multibody_cli", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in MODULES
    }
    order = graphlib.TopologicalSorter({name: imports_of(path, names.keys()) for name, path in names.items()})
    order.prepare()  # raises CycleError with the modules of a circle


@modules
def test_a_module_has_a_docstring(path):
    tree = tree_of(path)
    assert not tree.body or ast.get_docstring(tree)


@modules
def test_a_module_is_not_too_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@modules
def test_only_the_compiler_imports_numba(path):
    """numba is imported by one package."""
    if "/kernel/compiler/" in path.as_posix():
        return
    assert not re.search(r"^\s*(import|from) numba\b", path.read_text(encoding="utf-8"), re.MULTILINE)


@modules
def test_a_compiled_function_has_no_state_of_its_own(path):
    tree = tree_of(path)
    changing = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for function in compiled_functions(tree):
        for node in ast.walk(function):
            assert not isinstance(node, ast.Global | ast.Nonlocal), function.name
            assert not isinstance(node, ast.Try | ast.Raise | ast.With | ast.Yield | ast.Import), function.name
            assert not (isinstance(node, ast.Name) and node.id in changing), f"{function.name} reads {node.id}"


@modules
def test_a_compiled_function_allocates_nothing(path):
    """No lists, comprehensions, texts or new arrays inside: checked in the text, and again by counting in a run."""
    forbidden = (
        ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.GeneratorExp | ast.JoinedStr | ast.Lambda
    )
    for function in compiled_functions(tree_of(path)):
        for statement in function.body:
            for node in ast.walk(statement):
                assert not isinstance(node, forbidden), f"{function.name}, line {node.lineno}"
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    assert node.value.id not in {"np", "numpy"}, f"{function.name}, line {node.lineno}"


@modules
def test_a_compiled_function_has_a_docstring(path):
    for function in compiled_functions(tree_of(path)):
        public = not function.name.startswith("_")
        assert not public or ast.get_docstring(function), function.name


def test_globals_are_never_rebound():
    for path in MODULES:
        assert not any(isinstance(node, ast.Global) for node in ast.walk(tree_of(path))), path


def test_test_files_have_different_names():
    """The folders of tests are no packages, so that two modules of one name cannot be imported."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
