"""Faults for the mutation test: places in compiled functions where one small change makes the physics wrong.

A place is where a sign, an operator, the order of two indices or a number can be changed without making the text
meaningless: nothing inside an index or a range, and no counting by whole numbers, where a change would merely leave
an array.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SIGN, ORDER, POWER, INDEX, NUMBER = "sign", "order", "power", "index", "number"

WEIGHTS = {SIGN: 12.0, ORDER: 1.0, POWER: 2.0, INDEX: 2.0, NUMBER: 1.0}
"""How likely a kind of fault is against the others: mostly signs."""

PER_FILE = 2

EQUIVALENT = {
    **{
        ("contacts/shapes/box_box.py", f"+ {edge}  ->  - {edge}"): "the same four edges in another order"
        for edge in (f"((1.0 if k & {bit} else -1.0) * box.size[{axis}]) * box.R[{axis}]" for bit, axis in ("1j", "2h"))
    },
    (
        "linalg/free_rows.py",
        "largest = 1e-280  # avoids division by 0 if all rows are zero  ->  "
        "largest = 1.01e-280  # avoids division by 0 if all rows are zero",
    ): "any small number avoids the division",
    ("linalg/multipliers.py", "total += 0.0 * b[i]  ->  total -= 0.0 * b[i]"): "0 is taken away, or NaN",
    ("linalg/multipliers.py", "total += 0.0 * W[i, j]  ->  total -= 0.0 * W[i, j]"): "0 is taken away, or NaN",
    ("methods/integrators/vectors.py", "total += x[i] * 0.0  ->  total -= x[i] * 0.0"): "0 is taken away, or NaN",
}
"""Mutants that no test can catch, as `Mutant.described` says them, and why; they are never drawn."""

_OPERATORS: dict[type[ast.operator], tuple[str, str, str]] = {
    ast.Add: (SIGN, "+", "-"),
    ast.Sub: (SIGN, "-", "+"),
    ast.Mult: (POWER, "*", "/"),
    ast.Div: (POWER, "/", "*"),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
}


@dataclass(frozen=True, order=True)
class Mutant:
    """A file of the package with one change: the text from `start` to `end` becomes `new`.

    Lines count from 1; `start` and `end` are offsets in the text of the file.
    """

    file: str
    line: int
    start: int
    end: int
    kind: str
    old: str
    new: str

    @property
    def package(self) -> str:
        """Package of the file."""
        return self.file.split("/")[0].removesuffix(".py")

    def applied(self, text: str) -> str:
        """Give the text of the file with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def described(self, text: str) -> str:
        """Describe the changed line in one line."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        before = text[first:last].strip()
        return f"{before}  ->  {(text[first : self.start] + self.new + text[self.end : last]).strip()}"


def all_mutants(package: Path) -> list[Mutant]:
    """Every mutant of every compiled function of a package but those of `EQUIVALENT`, in the order of the text."""
    texts = {
        path.relative_to(package).as_posix(): path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))
    }
    return sorted(
        mutant
        for file, text in texts.items()
        for mutant in mutants_of(file, text)
        if (file, mutant.described(text)) not in EQUIVALENT
    )


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """Every mutant of the compiled functions of one file."""
    for function in compiled_functions(ast.parse(text)):
        for statement in function.body:
            yield from _Reader(file, text).read(statement)


def compiled_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions decorated by `kernel`, `formula`, `product` or `template`."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            words = {ast.unparse(decorator).split("(")[0] for decorator in function.decorator_list}
            if words & {"kernel", "formula", "product", "template"}:
                yield function


def drawn(mutants: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """Draw mutants, at most `PER_FILE` per file and one of every package before a second of any; deterministic by seed.

    Every file is as likely as any other, however long.
    """
    lengths: dict[str, float] = {}
    for mutant in mutants:
        lengths[mutant.file] = lengths.get(mutant.file, 0.0) + WEIGHTS[mutant.kind]
    lot = random.Random(seed)
    ranks = {mutant: lot.random() ** (lengths[mutant.file] / WEIGHTS[mutant.kind]) for mutant in sorted(mutants)}
    ranked = sorted(ranks, key=lambda mutant: -ranks[mutant])
    firsts = {mutant.package: mutant for mutant in reversed(ranked)}
    chosen: list[Mutant] = []
    for mutant in [*firsts.values(), *ranked]:
        taken = [other for other in chosen if other.file == mutant.file]
        if len(chosen) < count and mutant not in taken and len(taken) < PER_FILE:
            chosen.append(mutant)
    return sorted(chosen)


class Source:
    """Text of a file, with the places of its syntax tree."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._bytes = text.encode()
        self._lines = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def between(self, left: ast.expr, right: ast.expr, kind: str, old: str, new: str) -> Mutant:
        start = self._text.index(old, self.span(left)[1], self.span(right)[0])
        return self.mutant(kind, start, start + len(old), new)

    def mutant(self, kind: str, start: int, end: int, new: str) -> Mutant:
        line = self._text.count("\n", 0, start) + 1
        return Mutant(self._file, line, start, end, kind, self._text[start:end], new)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        end = self._lines[node.end_lineno - 1] + node.end_col_offset
        # columns of a syntax tree count bytes
        return len(self._bytes[:start].decode()), len(self._bytes[:end].decode())


class _Reader(Source):
    """Reads the mutants off the text of one statement."""

    def read(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                yield from self._operator(left, op, right, "")
            case ast.AugAssign(target=left, op=op, value=right) if type(op) in _OPERATORS:
                yield from self._operator(left, op, right, "=")
            case ast.UnaryOp(op=ast.USub(), operand=operand) if not _is_whole(operand):
                start = self.span(node)[0]
                yield self.mutant(SIGN, start, start + 1, "")
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                old, new = _COMPARISONS[type(op)]
                yield self.between(left, right, ORDER, old, new)
            case ast.Subscript(slice=ast.Tuple(elts=[first, second])) if not _has_slice(first, second):
                (start, middle), (resumed, end) = self.span(first), self.span(second)
                one, two = self._text[start:middle], self._text[resumed:end]
                if one != two:
                    yield self.mutant(INDEX, start, end, f"{two}, {one}")
            case ast.Constant(value=float() as value) if value not in (0.0, float("inf")):
                start, end = self.span(node)
                yield self.mutant(NUMBER, start, end, repr(value * 1.01))
        for child in _parts(node):
            yield from self.read(child)

    def _operator(self, left: ast.expr, op: ast.operator, right: ast.expr, suffix: str) -> Iterator[Mutant]:
        kind, old, new = _OPERATORS[type(op)]
        if _is_whole(left) or _is_whole(right):
            return
        if isinstance(op, ast.Mult) and not _is_number(right):
            return  # a vector is not divided by
        yield self.between(left, right, kind, old + suffix, new + suffix)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that may be changed: all but indices, ranges, and the bounds of comparisons."""
    match node:
        case ast.Subscript(value=value):
            yield value
        case ast.Call(func=ast.Name(id="range")):
            return
        case ast.Compare():
            return
        case _:
            yield from ast.iter_child_nodes(node)


def _has_slice(*nodes: ast.expr) -> bool:
    return any(isinstance(node, ast.Slice) for node in nodes)


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_number(node: ast.expr) -> bool:
    """Whether it is seen from the text alone that this is a number, not a vector."""
    return isinstance(node, ast.Subscript | ast.Constant)
