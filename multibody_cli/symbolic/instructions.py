"""Generated source as LLVM instructions, without type inference.

Numba infers the type of each operation, which takes 2 ms: half a minute for a large model.  In generated source all
types are known from the syntax.  It is a small language of

    arithmetic of float64 and int64 numbers; only division turns integers into float64
    arrays, loaded and stored at one index; names, each of one type
    calls of functions that numba knows, `for ... in range(...)` with a literal step, `if a == b`

All other syntax is refused.  Numba compiles the called functions, defines the meaning of arithmetic, and optimizes and
stores the code.  See `docs/adr/0020-instructions-of-generated-source.md`.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from llvmlite import ir

from multibody_cli.kernel import Formula

HEADER = '''"""{title}"""

from math import acos, asin, atan, atan2, cos, cosh, exp, floor, log, pow, sin, sinh, sqrt, tan, tanh

from multibody_cli.spatial.rotations import exponential_coefficients
from multibody_cli.spatial.trigonometry import sine_and_cosine


'''
"""Head of a generated module: imports of the functions that generated source may call."""


@cache
def names() -> dict[str, Any]:
    """Return the functions that generated source may call, by name."""
    found: dict[str, Any] = {}
    exec(HEADER.format(title="Names."), found)
    return {word: value for word, value in found.items() if callable(value)}


_OWN_SOURCE = Path(__file__).read_bytes()

NUMBER, INTEGER = ir.DoubleType(), ir.IntType(64)

_ARITHMETIC: dict[tuple[type[ast.operator], ir.Type], str] = {
    (ast.Add, NUMBER): "fadd",
    (ast.Sub, NUMBER): "fsub",
    (ast.Mult, NUMBER): "fmul",
    (ast.Div, NUMBER): "fdiv",
    (ast.Add, INTEGER): "add",
    (ast.Sub, INTEGER): "sub",
    (ast.Mult, INTEGER): "mul",
}
"""LLVM instructions of arithmetic operations."""

_SELECTIONS = {"min": "<", "max": ">"}
"""Comparison of the second with the first of two numbers under which the second one is selected."""


class InstructionWriter:
    """Writer of the LLVM instructions of generated source.

    Parameters
    ----------
    body
        The source of the function, whose name is `generated`.

    Raises
    ------
    NotImplementedError
        When it is called, if the source is outside the language.
    """

    def __init__(self, body: str) -> None:
        self.body = body

    @property
    def digest(self) -> str:
        """Digest of everything that determines the instructions."""
        called = (function.reach.digest for function in names().values() if isinstance(function, Formula))
        return sha256(b" ".join([_OWN_SOURCE, self.body.encode(), *(one.encode() for one in called)])).hexdigest()

    def __call__(self, builder: Any, pointers: Sequence[Any], call: Callable[[Any, list[Any]], Any]) -> None:
        """Write the instructions.

        Parameters
        ----------
        builder
            The instruction builder of llvmlite.
        pointers
            Pointers to the data of the arrays.
        call
            Writes a call of a function with LLVM values, and returns the LLVM value of its result.
        """
        function = _function_in(self.body)
        _Instructions(builder, call, function, pointers).write(function.body)


def _function_in(source: str) -> ast.FunctionDef:
    functions = (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef))
    return next(one for one in functions if one.name == "generated")


class _Instructions(ast.NodeVisitor):
    """Writer of instructions, statement by statement."""

    def __init__(self, builder: Any, call: Any, function: ast.FunctionDef, pointers: Sequence[Any]) -> None:
        self._builder, self._call = builder, call
        given = Counter(one.id for one in ast.walk(function) if isinstance(one, ast.Name) and _is_assigned(one))
        self._assigned_once = {word for word, count in given.items() if count == 1}
        self._values = {one.arg: pointer for one, pointer in zip(function.args.args, pointers, strict=True)}
        self._allocated: dict[str, Any] = {}

    def write(self, statements: Sequence[ast.stmt]) -> None:
        """Write consecutive statements."""
        for statement in statements:
            self.visit(statement)

    def generic_visit(self, node: ast.AST) -> NoReturn:
        """Refuse syntax outside the language."""
        raise NotImplementedError(f"unsupported syntax in generated source: {ast.unparse(node)}")

    # --- statements -----------------------------------------------------------------------------------------------
    def visit_Pass(self, node: ast.Pass) -> None:
        """Write nothing."""

    def visit_Expr(self, node: ast.Expr) -> None:
        """Skip a docstring."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Write `a = ...`, `a[k] = ...`, or `a, b = ...` of as many values or of a function that returns them."""
        (target,) = node.targets
        if not isinstance(target, ast.Tuple):
            self._assign(target, self.visit(node.value))
            return
        if isinstance(node.value, ast.Tuple):
            values = [self.visit(one) for one in node.value.elts]
        else:
            found = self.visit(node.value)
            values = [self._builder.extract_value(found, k) for k in range(len(target.elts))]
        for one, value in zip(target.elts, values, strict=True):
            self._assign(one, value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Write `a += ...` and similar statements."""
        self._assign(node.target, self._computed(node.op, self.visit(node.target), self.visit(node.value)))

    def visit_For(self, node: ast.For) -> None:
        """Write `for i in range(...)`."""
        loop = node.iter
        if not (isinstance(loop, ast.Call) and isinstance(loop.func, ast.Name) and loop.func.id == "range"):
            self.generic_visit(node)
        bounds = loop.args
        step = ast.literal_eval(bounds[2]) if len(bounds) == 3 else 1
        start, stop = [INTEGER(0), *(self.visit(one) for one in bounds[:2])][-2:]
        builder, at = self._builder, self._allocate(start.type, start)
        test, body, end = (builder.append_basic_block(f"for.{word}") for word in ("test", "body", "end"))
        builder.branch(test)
        builder.position_at_end(test)
        builder.cbranch(builder.icmp_signed("<" if step > 0 else ">", builder.load(at), stop), body, end)
        builder.position_at_end(body)
        self._assign(node.target, builder.load(at))
        self.write(node.body)
        builder.store(builder.add(builder.load(at), INTEGER(step)), at)
        builder.branch(test)
        builder.position_at_end(end)

    def visit_If(self, node: ast.If) -> None:
        """Write `if a == b` of integers, and its `else` branch."""
        test = node.test
        if not (isinstance(test, ast.Compare) and [type(one) for one in test.ops] == [ast.Eq]):
            self.generic_visit(node)
        left, right = self.visit(test.left), self.visit(test.comparators[0])
        with self._builder.if_else(self._builder.icmp_signed("==", left, right)) as (then, otherwise):
            with then:
                self.write(node.body)
            with otherwise:
                self.write(node.orelse)

    # --- values ---------------------------------------------------------------------------------------------------
    def visit_Constant(self, node: ast.Constant) -> Any:
        """Return a float64 or int64 constant."""
        return (INTEGER if isinstance(node.value, int) else NUMBER)(node.value)

    def visit_Name(self, node: ast.Name) -> Any:
        """Return the value of a name."""
        return self._builder.load(self._allocated[node.id]) if node.id in self._allocated else self._values[node.id]

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Load an entry of an array."""
        return self._builder.load(self._address_of_entry(node))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """Return the negative of a value."""
        if not isinstance(node.op, ast.USub):
            self.generic_visit(node)
        value = self.visit(node.operand)
        return self._builder.fneg(value) if value.type == NUMBER else self._builder.neg(value)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Return the result of an operation."""
        return self._computed(node.op, self.visit(node.left), self.visit(node.right))

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the result of a function call."""
        if not isinstance(node.func, ast.Name):
            self.generic_visit(node)
        word, values = node.func.id, [self.visit(one) for one in node.args]
        if word in _SELECTIONS:
            first, second = (self._as(NUMBER, value) for value in values)
            return self._builder.select(self._builder.fcmp_ordered(_SELECTIONS[word], second, first), second, first)
        return self._call(names().get(word) or getattr(builtins, word, None) or self.generic_visit(node), values)

    # --- helpers --------------------------------------------------------------------------------------------------
    def _computed(self, operation: ast.operator, left: Any, right: Any) -> Any:
        kind = INTEGER if left.type == right.type == INTEGER and not isinstance(operation, ast.Div) else NUMBER
        if (type(operation), kind) not in _ARITHMETIC:
            self.generic_visit(operation)
        operands = (self._as(kind, value) for value in (left, right))
        return getattr(self._builder, _ARITHMETIC[type(operation), kind])(*operands)

    def _as(self, kind: Any, value: Any) -> Any:
        return value if value.type == kind else self._builder.sitofp(value, kind)

    def _address_of_entry(self, node: ast.Subscript) -> Any:
        return self._builder.gep(self.visit(node.value), [self.visit(node.slice)], inbounds=True)

    def _assign(self, target: ast.expr, value: Any) -> None:
        """Store a value in the target of an assignment."""
        if isinstance(target, ast.Subscript):
            location = self._address_of_entry(target)
            self._builder.store(self._as(location.type.pointee, value), location)
        elif not isinstance(target, ast.Name):
            self.generic_visit(target)
        elif target.id in self._assigned_once:
            self._values[target.id] = value
        else:
            if target.id not in self._allocated:
                self._allocated[target.id] = self._allocate(value.type)
            location = self._allocated[target.id]
            self._builder.store(self._as(location.type.pointee, value), location)

    def _allocate(self, kind: Any, value: Any = None) -> Any:
        """Allocate a variable in the entry block of the function, and store its first value here."""
        with self._builder.goto_entry_block():
            location = self._builder.alloca(kind)
        if value is not None:
            self._builder.store(value, location)
        return location


def _is_assigned(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
