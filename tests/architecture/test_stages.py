"""The table of the stages of a contact step names their kernels in order, and the records that they read and write."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from multibody_cli.contact_solver import contact_step, joint_friction
from multibody_cli.contact_solver.workspace import ContactWorkspace
from multibody_cli.kernel import Formula, Template

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "step.md"
WORK = "contact_work"


@cache
def tree_of(function: Any) -> ast.FunctionDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function.py_func))).body
    assert isinstance(node, ast.FunctionDef)
    return node


def called(function: Any, call: ast.Call) -> Any:
    """The kernel, formula or template of a call; None for others."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    found = function.py_func.__globals__.get(name)
    return found if isinstance(found, Formula | Template) else None


def parameters(function: Any) -> list[str]:
    return [argument.arg for argument in tree_of(function).args.args]


def path_of(node: ast.AST) -> list[str]:
    """The name and the attributes of `a.b[i].c`; empty for other expressions."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute | ast.Subscript):
        inner = path_of(node.value)
        return [*inner, node.attr] if inner and isinstance(node, ast.Attribute) else inner
    return []


def pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets and values of an assignment."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        elif isinstance(target, ast.Tuple):
            yield from ((one, node.value) for one in target.elts)
        else:
            yield target, node.value


def origins(function: Any) -> dict[str, list[str]]:
    """The path from a parameter to each local name of a part of it."""
    found = {name: [name] for name in parameters(function)}
    for node in ast.walk(tree_of(function)):
        for target, value in pairs(node) if isinstance(node, ast.Assign) else ():
            path = path_of(value)
            if isinstance(target, ast.Name) and target.id not in found and path and path[0] in found:
                found[target.id] = [*found[path[0]], *path[1:]]
    return found


def stores(node: ast.AST) -> list[list[str]]:
    """The paths into which a statement or a call of `store` stores numbers."""
    targets = [target for target, _ in pairs(node)] if isinstance(node, ast.Assign) else []
    targets += [node.target] if isinstance(node, ast.AugAssign) else []
    paths = [path_of(target) for target in targets if isinstance(target, ast.Attribute | ast.Subscript)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "store":
        paths.append(path_of(node.args[0]))
    return paths


@cache
def writes(function: Any) -> frozenset[str]:
    """The parameters into which a function stores numbers, itself or through the functions that it calls."""
    if function.__name__ == "root":
        return frozenset()  # it shortens paths in a forest of sets, which remain the same
    found, known = set(), origins(function)
    for node in ast.walk(tree_of(function)):
        stored = stores(node)
        if isinstance(node, ast.Call) and (inner := called(function, node)) is not None:
            stored += [path_of(a) for p, a in zip(parameters(inner), node.args, strict=True) if p in writes(inner)]
        found |= {known[path[0]][0] for path in stored if path and path[0] in known}
    return frozenset(found)


def accesses(function: Any, given: dict[str, list[str]]) -> Iterator[tuple[str, set[str], set[str]]]:
    """The accesses to records in order: the name of a kernel or nothing, and the records that it reads and writes.

    `given` has the paths from the work arrays to the parameters of the function.  Functions of the same module that
    take all work arrays are parts of the step: their calls stand in their place.
    """
    known = {name: [*given[path[0]], *path[1:]] for name, path in origins(function).items() if path[0] in given}

    def within_work(path: list[str]) -> list[str]:
        return [*known[path[0]], *path[1:]] if path and path[0] in known else []

    nodes = [node for node in ast.walk(tree_of(function)) if isinstance(node, ast.Call | ast.Assign | ast.AugAssign)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if stored := {path[1] for path in map(within_work, stores(node)) if len(path) > 1}:
            yield "", set(), stored
        inner = called(function, node) if isinstance(node, ast.Call) else None
        if inner is None or not isinstance(node, ast.Call):
            continue
        paths = zip(parameters(inner), map(within_work, map(path_of, node.args)), strict=True)
        passed = {p: path for p, path in paths if path}
        read = {path[1] for path in passed.values() if len(path) > 1}
        written = {path[1] for p, path in passed.items() if len(path) > 1 and p in writes(inner)}
        if [WORK] in passed.values():
            inside = list(accesses(inner, passed))
            if inner.__module__ == contact_step.__name__:
                yield from inside
                continue
            read, written = read.union(*(one for _, one, _ in inside)), written.union(*(one for *_, one in inside))
        if read:
            yield inner.__name__, read - written, written


def table() -> list[list[list[str]]]:
    """Stages of the page: kernels, and the records that they read and write."""
    section = PAGE.read_text(encoding="utf-8").split("## The stages of a step")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.replace("`", "").replace(",", " ").split() for cell in line[1:]] for line in lines]


def test_records_are_those_of_the_work_arrays():
    fields = {*ContactWorkspace._fields}
    assert {record for _, *cells in table() for cell in cells for record in cell} <= fields


def test_the_table_agrees_with_the_step():
    stages, found = table(), list[tuple[list[str], set[str], set[str]]]()
    begins = {kernels[0]: k for k, (kernels, *_) in enumerate(stages)}
    assert len(begins) == len(stages)
    for name, *records in accesses(contact_step.solve_contact_step, {WORK: [WORK]}):
        if begins.get(name) == len(found):
            found.append(([], set(), set()))
        names, *sets = found[-1]
        names.append(name)
        for known, more in zip(sets, records, strict=True):
            known |= more
    assert len(found) == len(stages)
    for (kernels, *of_page), (names, read, written) in zip(stages, found, strict=True):
        assert [name for name in dict.fromkeys(names) if name in kernels] == kernels
        assert [{*records} for records in of_page] == [read - written, written], kernels


def test_stores_are_seen():
    """`writes` follows other names, parts of tuples, and calls."""
    assert writes(joint_friction.transmit_impulses) == {"work"}
    # brakes on paths compute the arcs over surfaces, guides of ropes their grip
    assert writes(contact_step.write_rows) == {"step", "system", "joint_friction"}
    assert "contacts" in writes(contact_step.add_biases)
