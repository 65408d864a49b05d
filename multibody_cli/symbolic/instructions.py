"""Generated source as LLVM instructions, without type inference.

Numba infers the type of each operation, which takes 2 ms: half a minute for a large model.  In generated source all
types are known from the syntax.  It is a small language of

    arithmetic of float64 and int64 numbers; only division turns integers into float64
    the same of vectors of numbers, the entries of some arrays; a number turns into a vector of equal numbers
    the same of dual numbers, the entries of other arrays; a number turns into one whose derivatives are 0
    arrays, loaded and stored at one index; names, each of one type
    calls of functions that numba supports, `for ... in range(...)` with a literal step, `if a == b`

All other syntax is refused.  Numba compiles the called functions, defines the meaning of arithmetic, and optimizes and
stores the code.  See `docs/adr/0020-instructions-of-generated-source.md`.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from llvmlite import ir

from multibody_cli.kernel import Formula
from multibody_cli.symbolic import derivative, duals, tables, vectors
from multibody_cli.symbolic.duals import DUAL, Dual
from multibody_cli.symbolic.tables import Piecewise, tables_in
from multibody_cli.symbolic.vectors import INTEGER, NUMBER, VECTOR

HEADER = '''"""{title}"""

from math import acos, asin, atan, atan2, cos, cosh, exp, floor, log, pow, sin, sinh, sqrt, tan, tanh

from multibody_cli.spatial.rotations import (
    exponential_coefficients, half_angle_coefficients, half_angle_slope, inverse_jacobian_coefficient,
    inverse_jacobian_slope, logarithm_coefficient, logarithm_slope, quaternion_of_entries,
)
from multibody_cli.symbolic.trigonometry import sine_and_cosine


'''
"""Head of a generated module: imports of the functions that generated source may call."""


@cache
def names() -> dict[str, Any]:
    """Return the functions that generated source may call, by name."""
    found: dict[str, Any] = {}
    exec(HEADER.format(title="Names."), found)
    return {word: value for word, value in found.items() if callable(value)}


_OWN_SOURCE = b"".join(
    Path(file).read_bytes()
    for file in (__file__, vectors.__file__, duals.__file__, derivative.__file__, tables.__file__)
)

_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
"""LLVM instructions of arithmetic operations; those of float64 begin with f."""

_WIDTH = (INTEGER, NUMBER, VECTOR, DUAL)
"""Types of values, each converted to the later ones where these are expected."""

ALIGNMENT = 8
"""Alignment of the entries of arrays in bytes, also of vectors."""

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
        self.tables = tables_in(body)

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
        _Instructions(builder, call, function, pointers, self.tables).write(function.body)


def _function_in(source: str) -> ast.FunctionDef:
    functions = (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef))
    return next(one for one in functions if one.name == "generated")


class _Instructions(ast.NodeVisitor):
    """Writer of instructions, statement by statement."""

    def __init__(
        self,
        builder: Any,
        call: Any,
        function: ast.FunctionDef,
        pointers: Sequence[Any],
        tables: Mapping[str, Piecewise],
    ) -> None:
        self._builder, self._call, self._tables = builder, call, tables
        given = Counter(one.id for one in ast.walk(function) if isinstance(one, ast.Name) and _is_assigned(one))
        self._assigned_once = {word for word, count in given.items() if count == 1}
        self._values = {one.arg: pointer for one, pointer in zip(function.args.args, pointers, strict=True)}
        self._allocated: dict[str, Any] = {}
        kinds = [pointer.type.pointee for pointer in pointers]
        self._widest = max([NUMBER, *kinds], key=_WIDTH.index)

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
            is_list = isinstance(found, list)
            values = found if is_list else [self._builder.extract_value(found, k) for k in range(len(target.elts))]
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
        return self._load(self._allocated[node.id]) if node.id in self._allocated else self._values[node.id]

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Load an entry of an array."""
        return self._load(self._address_of_entry(node), align=ALIGNMENT)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """Return the negative of a value."""
        if not isinstance(node.op, ast.USub):
            self.generic_visit(node)
        value = self.visit(node.operand)
        if isinstance(value, Dual):
            return duals.negative(self._builder, value)
        return self._builder.neg(value) if value.type == INTEGER else self._builder.fneg(value)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Return the result of an operation."""
        return self._computed(node.op, self.visit(node.left), self.visit(node.right))

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the result of a function call."""
        if not isinstance(node.func, ast.Name):
            self.generic_visit(node)
        word, values = node.func.id, [self.visit(one) for one in node.args]
        if word in _SELECTIONS:
            first, second = self._of_one_kind(values, NUMBER)
            if isinstance(first, Dual):
                return duals.selected(self._builder, _SELECTIONS[word], first, second)
            return self._builder.select(self._builder.fcmp_ordered(_SELECTIONS[word], second, first), second, first)
        if word in self._tables:
            return self._tabulated(self._tables[word], self._as(NUMBER, values[0]))
        function = _function_of(word) or self.generic_visit(node)
        kinds = [value.type for value in values]
        if DUAL in kinds:
            return duals.applied(self._builder, lambda own, given: self._call(_function_of(own), given), word, values)
        if VECTOR not in kinds:
            return self._call(function, values)
        return vectors.apply(self._builder, self._call, word, function, self._of_one_kind(values, VECTOR))

    # --- piecewise polynomials ------------------------------------------------------------------------------------
    def _tabulated(self, piecewise: Piecewise, x: Any) -> Any:
        """Return a piecewise polynomial at x; the numbers of a vector are taken one by one."""
        if isinstance(x, Dual):
            slope = vectors.splat(self._builder, self._piece_value(piecewise.derivative, x.value))
            return Dual(self._piece_value(piecewise, x.value), self._builder.fmul(slope, x.tangent))
        if x.type == NUMBER:
            return self._piece_value(piecewise, x)
        found = x
        for k in range(x.type.count):
            value = self._piece_value(piecewise, self._builder.extract_element(x, INTEGER(k)))
            found = self._builder.insert_element(found, value, INTEGER(k))
        return found

    def _piece_value(self, piecewise: Piecewise, x: Any) -> Any:
        builder, piece = self._builder, INTEGER(0)
        for knot in piecewise.knots[1:]:
            has_started = builder.fcmp_ordered(">=", x, NUMBER(knot))
            piece = builder.add(piece, builder.zext(has_started, INTEGER))
        s = builder.fsub(x, self._entry(piecewise.knots, piece))
        *lower, total = (self._entry(column, piece) for column in zip(*piecewise.coefficients, strict=True))
        for coefficient in reversed(lower):
            total = builder.fadd(builder.fmul(total, s), coefficient)
        return total

    def _entry(self, numbers: Sequence[float], k: Any) -> Any:
        """Load entry k of constant numbers."""
        module, kind = self._builder.module, ir.ArrayType(NUMBER, len(numbers))
        constants = ir.GlobalVariable(module, kind, module.get_unique_name("table"))
        constants.initializer, constants.linkage = ir.Constant(kind, list(numbers)), "internal"
        constants.global_constant = True
        return self._builder.load(self._builder.gep(constants, [INTEGER(0), k], inbounds=True))

    # --- helpers --------------------------------------------------------------------------------------------------
    def _computed(self, operation: ast.operator, left: Any, right: Any) -> Any:
        if type(operation) not in _ARITHMETIC:
            self.generic_visit(operation)
        word = _ARITHMETIC[type(operation)]
        if isinstance(left, Dual) or isinstance(right, Dual):
            pair = (one if isinstance(one, Dual) else self._as(NUMBER, one) for one in (left, right))
            return duals.computed(self._builder, word, *pair)
        left, right = self._of_one_kind([left, right], NUMBER if isinstance(operation, ast.Div) else INTEGER)
        return getattr(self._builder, word if left.type == INTEGER else f"f{word}")(left, right)

    def _of_one_kind(self, values: Sequence[Any], kind: Any) -> list[Any]:
        """Convert values to their widest type, at least `kind`."""
        widest = max([kind, *(value.type for value in values)], key=_WIDTH.index)
        return [self._as(widest, value) for value in values]

    def _as(self, kind: Any, value: Any) -> Any:
        if value.type == kind:
            return value
        number = self._builder.sitofp(value, NUMBER) if value.type == INTEGER else value
        if kind == DUAL:
            return duals.constant(number)
        return vectors.splat(self._builder, number) if kind == VECTOR else number

    def _address_of_entry(self, node: ast.Subscript) -> Any:
        return self._builder.gep(self.visit(node.value), [self.visit(node.slice)], inbounds=True)

    def _assign(self, target: ast.expr, value: Any) -> None:
        """Store a value in the target of an assignment."""
        if isinstance(target, ast.Subscript):
            location = self._address_of_entry(target)
            self._store(value, location, align=ALIGNMENT)
        elif not isinstance(target, ast.Name):
            self.generic_visit(target)
        elif target.id in self._assigned_once:
            self._values[target.id] = value
        else:
            if target.id not in self._allocated:
                kind = self._widest if value.type == NUMBER else value.type  # of values that follow
                self._allocated[target.id] = self._allocate(kind)
            self._store(value, self._allocated[target.id])

    def _load(self, location: Any, align: int | None = None) -> Any:
        if location.type.pointee == DUAL:
            return duals.load(self._builder, location)
        return self._builder.load(location, align=align)

    def _store(self, value: Any, location: Any, align: int | None = None) -> None:
        """Store a value in a location, as a value of its type."""
        converted = self._as(location.type.pointee, value)
        if isinstance(converted, Dual):
            duals.store(self._builder, converted, location)
        else:
            self._builder.store(converted, location, align=align)

    def _allocate(self, kind: Any, value: Any = None) -> Any:
        """Allocate a variable in the entry block of the function, and store its first value here."""
        with self._builder.goto_entry_block():
            location = self._builder.alloca(kind)
        if value is not None:
            self._builder.store(value, location)
        return location


def _function_of(word: str) -> Any:
    return names().get(word) or getattr(builtins, word, None)


def _is_assigned(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
