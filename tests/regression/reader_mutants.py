"""Faults for the mutation test of readers: places in their functions where one change lets a wrong file pass.

The readers are the files of the coverage report, which `pyproject.toml` lists.
"""

from __future__ import annotations

import ast
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path

from mutants import Mutant, Source, compiled_functions

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
JOINED: dict[type[ast.boolop], tuple[str, str]] = {ast.And: ("and", "or"), ast.Or: ("or", "and")}

_DAY = "if time.time() - place.stat().st_mtime {} 86400.0:"
EQUIVALENT = {
    ("kernel/store.py", f"{_DAY.format('>')}  ->  {_DAY.format('>=')}"): "no clock hits the day exactly",
}
"""Mutants that no test can catch, as `Mutant.described` states them, and the reason; they are never drawn."""


def reader_files(root: Path) -> list[str]:
    """Return the readers, relative to the package."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    places = [place for word in settings["tool"]["coverage"]["run"]["include"] for place in sorted(root.glob(word))]
    return [place.relative_to(root / "multibody_cli").as_posix() for place in places if place.suffix == ".py"]


def reader_mutants(root: Path) -> list[Mutant]:
    """Return every mutant of every function of the readers that is not compiled, but those of `EQUIVALENT`."""
    found = []
    for file in reader_files(root):
        text = (root / "multibody_cli" / file).read_text(encoding="utf-8")
        found += [mutant for mutant in faults_of(file, text) if (file, mutant.described(text)) not in EQUIVALENT]
    return sorted(found)


def faults_of(file: str, text: str) -> Iterator[Mutant]:
    """Return every mutant of one file."""
    tree, source = ast.parse(text), _Faults(file, text)
    compiled = list(compiled_functions(tree))
    for part in tree.body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and part not in compiled:
            for function in ast.walk(part):
                if isinstance(function, ast.FunctionDef):
                    for statement in function.body:
                        yield from source.read(statement)


def drawn_of_each_operator(mutants: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """Draw mutants, one of each operator before a second one of any, from different files as far as possible."""
    lot = random.Random(seed)
    left = lot.sample(sorted(mutants), len(mutants))
    chosen: list[Mutant] = []
    while left and len(chosen) < count:
        used = [mutant.kind for mutant in chosen]
        files = [mutant.file for mutant in chosen]
        chosen.append(min(left, key=lambda mutant: (used.count(mutant.kind), files.count(mutant.file))))
        left.remove(chosen[-1])
    return sorted(chosen)


class _Faults(Source):
    """Reads the mutants of a statement and of its parts; texts of messages and annotations are not changed."""

    def read(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.JoinedStr | ast.FunctionDef | ast.Assert):
            return
        yield from self._changes(node)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name != "annotation":
                    yield from self.read(child)

    def _changes(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                old, new = COMPARED[type(op)]
                yield self.between(left, right, old, old, new)
            case ast.BoolOp(op=op, values=[left, right, *_]):
                old, new = JOINED[type(op)]
                yield self.between(left, right, old, old, new)
            case ast.UnaryOp(op=ast.Not()):
                start = self.span(node)[0]
                yield self.mutant("not", start, start + 3, "")
            case ast.If(test=test) | ast.IfExp(test=test):
                yield self._wrapped("if", test, "not ({})")
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                yield self._replaced("+ 1", node, str(value + 1))
                yield self._replaced("- 1", node, str(value - 1))
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._replaced("return", value, "None")
            case ast.Raise():
                yield self._replaced("raise", node, "pass")
            case ast.Expr(value=ast.Call()):
                yield self._replaced("call", node, "pass")
            case ast.Call(args=[first, second, *_]) if not isinstance(first, ast.Starred):
                (start, middle), (resumed, end) = self.span(first), self.span(second)
                one, two = self._text[start:middle], self._text[resumed:end]
                if one != two and not isinstance(second, ast.Starred) and first.lineno == second.end_lineno:
                    yield self.mutant("arguments", start, end, f"{two}, {one}")
            case ast.Slice(lower=ast.expr() as bound) | ast.Slice(upper=ast.expr() as bound):
                yield self._replaced("slice", bound, "")
            case ast.Continue():
                yield self._replaced("continue", node, "break")

    def _wrapped(self, kind: str, node: ast.expr, form: str) -> Mutant:
        start, end = self.span(node)
        return self.mutant(kind, start, end, form.format(self._text[start:end]))

    def _replaced(self, kind: str, node: ast.expr | ast.stmt, new: str) -> Mutant:
        start, end = self.span(node)
        return self.mutant(kind, start, end, new)
