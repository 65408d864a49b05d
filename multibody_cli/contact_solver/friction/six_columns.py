"""Products and triangular solutions with rows of six numbers in flat arrays, each row in vector registers.

A *block* is six rows, a *strip* three rows, one after the other.  LLVM unrolls loops over six numbers before it would
vectorize them, so that their compiled form is written as vector instructions: as loops, a collapsing pile takes 1.35
times as long.  All operands are read before a result is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.kernel import instructions

COLUMNS, STRIP = 6, 3
"""Numbers in a row, and rows of a strip."""

FUSED = ("contract",)
"""Flag of products and sums that may be fused."""


class _Rows:
    """Writer of instructions for arguments that are flat arrays, each followed by the place of its first row."""

    def __init__(self, context: Any, builder: Any, types: Any, args: Any) -> None:
        from llvmlite import ir

        self._builder, self._args = builder, args
        self._data = [
            context.make_array(kind)(context, builder, arg).data if hasattr(kind, "ndim") else None
            for kind, arg in zip(types, args, strict=True)
        ]
        self._row, self._word = ir.VectorType(ir.DoubleType(), COLUMNS), ir.IntType(64)
        self._undefined = ir.Constant(self._row, ir.Undefined)
        self._zero = ir.Constant(self._row, [0.0] * COLUMNS)
        self._equal = ir.Constant(ir.VectorType(ir.IntType(32), COLUMNS), [0] * COLUMNS)

    def _place(self, array: int, entry: int) -> Any:
        return self._builder.add(self._args[array + 1], self._word(entry))

    def _row_pointer(self, array: int, place: Any) -> Any:
        return self._builder.bitcast(self._builder.gep(self._data[array], [place]), self._row.as_pointer())

    def row_at(self, array: int, place: Any) -> Any:
        """Load a row of an array, from that place on."""
        return self._builder.load(self._row_pointer(array, place), align=8, typ=self._row)

    def row(self, array: int, row: int) -> Any:
        """Load a row of an array."""
        return self.row_at(array, self._place(array, COLUMNS * row))

    def rows(self, array: int, count: int) -> list[Any]:
        """Load the first rows of an array."""
        return [self.row(array, k) for k in range(count)]

    def store(self, array: int, rows: list[Any]) -> None:
        """Store the first rows of an array."""
        for k, row in enumerate(rows):
            self._builder.store(row, self._row_pointer(array, self._place(array, COLUMNS * k)), align=8)

    def number(self, array: int, entry: int) -> Any:
        """Load an entry of an array, as a row of equal numbers."""
        return self.equal(self._builder.load(self._builder.gep(self._data[array], [self._place(array, entry)])))

    def equal(self, number: Any) -> Any:
        """Return a row of equal numbers."""
        first = self._builder.insert_element(self._undefined, number, self._word(0))
        return self._builder.shuffle_vector(first, self._undefined, self._equal)

    def entry(self, row: Any, k: int) -> Any:
        """Return an entry of a row."""
        return self._builder.extract_element(row, self._word(k))

    def with_entry(self, row: Any, k: int, number: Any) -> Any:
        """Return a row with another entry."""
        return self._builder.insert_element(row, number, self._word(k))

    def above(self, row: Any, k: int) -> Any:
        """Return a row with entries 0 up to the entry k."""
        places = [j if j > k else COLUMNS for j in range(COLUMNS)]
        return self._builder.shuffle_vector(row, self._zero, self._equal.type(places))

    def times(self, x: Any, y: Any) -> Any:
        return self._builder.fmul(x, y, flags=FUSED)

    def plus(self, x: Any, y: Any) -> Any:
        return self._builder.fadd(x, y, flags=FUSED)

    def minus(self, x: Any, y: Any) -> Any:
        return self._builder.fsub(x, y, flags=FUSED)

    def combination(self, array: int, entry: int, rows: list[Any]) -> Any:
        """Return the sum of three rows, each times an entry of an array; the entries are a row apart."""
        x, y, z = (self.times(self.number(array, entry + COLUMNS * k), row) for k, row in enumerate(rows))
        return self.plus(self.plus(x, y), z)


def rows_at(A: Any, a: int, count: int = COLUMNS) -> Any:
    """Return a view of rows in plain Python, from a place on."""
    return A[a : a + COLUMNS * count].reshape(count, COLUMNS)


# --- products -------------------------------------------------------------------------------------------------------
def _write_strip_product(context: Any, builder: Any, types: Any, args: Any) -> None:
    from llvmlite import ir

    first = builder.mul(args[1], ir.IntType(64)(STRIP))
    rows = _Rows(context, builder, types, [args[0], first, *args[2:]])
    A = rows.rows(2, STRIP)
    product = []
    for j in range(STRIP):
        x, y, z = (rows.number(0, STRIP * j + h) for h in range(STRIP))
        total = rows.plus(rows.times(x, A[0]), rows.plus(rows.times(y, A[1]), rows.times(z, A[2])))
        product.append(rows.times(rows.equal(args[6]), total))
    rows.store(4, product)


@instructions(_write_strip_product)
def multiply_strip(D: Any, k: int, A: Any, a: int, C: Any, c: int, factor: float) -> None:
    """Compute the strip C = factor D A, for the rows of D (m, 3) from k on and the strip A."""
    rows_at(C, c, STRIP)[:] = factor * (D[k : k + STRIP] @ rows_at(A, a, STRIP))


def _write_sum_of_product(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    B, C = rows.rows(2, STRIP), rows.rows(4, COLUMNS)
    rows.store(4, [rows.plus(C[i], rows.combination(0, i, B)) for i in range(COLUMNS)])


@instructions(_write_sum_of_product)
def add_transposed_product(A: Any, a: int, B: Any, b: int, C: Any, c: int) -> None:
    """Add A^T B to the block C, for strips A and B."""
    rows_at(C, c)[:] += rows_at(A, a, STRIP).T @ rows_at(B, b, STRIP)


def _write_sum_of_outer_product(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    B, C = rows.row(2, 0), rows.rows(4, COLUMNS)
    rows.store(4, [rows.plus(C[i], rows.times(rows.number(0, i), B)) for i in range(COLUMNS)])


@instructions(_write_sum_of_outer_product)
def add_outer_product(A: Any, a: int, B: Any, b: int, C: Any, c: int) -> None:
    """Add A^T B to the block C, for rows A and B."""
    rows_at(C, c)[:] += np.outer(A[a : a + COLUMNS], B[b : b + COLUMNS])


def _write_difference_of_product(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    B, C = rows.rows(2, COLUMNS), rows.rows(4, COLUMNS)
    for i in range(COLUMNS):
        sums = rows.combination(0, i, B[:3]), rows.combination(0, 3 * COLUMNS + i, B[3:])
        C[i] = rows.minus(C[i], rows.plus(*sums))
    rows.store(4, C)


@instructions(_write_difference_of_product)
def subtract_transposed_product(A: Any, a: int, B: Any, b: int, C: Any, c: int) -> None:
    """Subtract A^T B from the block C, for blocks A and B."""
    rows_at(C, c)[:] -= rows_at(A, a).T @ rows_at(B, b)


def _write_difference_of_vector_product(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    A = [(rows.row(0, k), rows.number(2, k)) for k in range(COLUMNS)]
    sums = [rows.plus(rows.plus(rows.times(*A[k]), rows.times(*A[k + 1])), rows.times(*A[k + 2])) for k in (0, STRIP)]
    rows.store(4, [rows.minus(rows.row(4, 0), rows.plus(*sums))])


@instructions(_write_difference_of_vector_product)
def subtract_transposed_vector_product(A: Any, a: int, x: Any, i: int, y: Any, j: int) -> None:
    """Subtract the product of A^T and six entries of x, from i on, from six entries of y, from j on."""
    y[j : j + COLUMNS] -= x[i : i + COLUMNS] @ rows_at(A, a)


# --- triangular solutions -------------------------------------------------------------------------------------------
def _write_lower_solution(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    X = rows.rows(2, COLUMNS)
    for k in range(COLUMNS):
        for i in range(k + 1, COLUMNS):
            X[i] = rows.minus(X[i], rows.times(rows.number(0, COLUMNS * i + k), X[k]))
    rows.store(2, X)


@instructions(_write_lower_solution)
def solve_lower(A: Any, a: int, X: Any, x: int) -> None:
    """Replace the block X by L^-1 X, with the factors A of `factor_block`."""
    L, Y = rows_at(A, a), rows_at(X, x)
    for k in range(COLUMNS):
        Y[k + 1 :] -= np.outer(L[k + 1 :, k], Y[k])


def _write_upper_solution(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    X = rows.rows(2, COLUMNS)
    for k in range(COLUMNS):
        X[k] = rows.times(rows.number(0, (COLUMNS + 1) * k), X[k])
        for i in range(k + 1, COLUMNS):
            X[i] = rows.minus(X[i], rows.times(rows.number(0, COLUMNS * k + i), X[k]))
    rows.store(2, X)


@instructions(_write_upper_solution)
def solve_transposed_upper(A: Any, a: int, X: Any, x: int) -> None:
    """Replace the block X by U^-T X, with the factors A of `factor_block`."""
    U, Y = rows_at(A, a), rows_at(X, x)
    for k in range(COLUMNS):
        Y[k] *= U[k, k]
        Y[k + 1 :] -= np.outer(U[k, k + 1 :], Y[k])


def _write_row_solution(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    y = rows.row(2, 0)
    for k in range(COLUMNS):
        solved = builder.fdiv(rows.entry(y, k), rows.entry(rows.row(0, k), k))
        factors = rows.above(rows.row(0, k), k)
        y = rows.minus(rows.with_entry(y, k, solved), rows.times(rows.equal(solved), factors))
    rows.store(2, [y])


@instructions(_write_row_solution)
def solve_row(U: Any, u: int, y: Any, i: int) -> None:
    """Replace six entries of y, from i on, by U^-T of them, for the upper triangle of the block U."""
    factors, z = rows_at(U, u), y[i : i + COLUMNS]
    for k in range(COLUMNS):
        z[k] /= factors[k, k]
        z[k + 1 :] -= z[k] * factors[k, k + 1 :]


# --- rows -----------------------------------------------------------------------------------------------------------
def _write_power(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    place, products = args[3], []
    for k in range(COLUMNS):
        products.append(rows.times(rows.row_at(2, place), rows.number(0, k)))
        place = builder.add(place, args[6])
    sums = [rows.plus(rows.plus(products[k], products[k + 1]), products[k + 2]) for k in (0, STRIP)]
    rows.store(4, [rows.plus(rows.row(4, 0), rows.plus(*sums))])


@instructions(_write_power)
def add_power(wrench: Any, i: int, A: Any, a: int, C: Any, c: int, distance: int) -> None:
    """Add to the row C the power of a wrench for six motions: six rows of A from a on, with that distance."""
    for k in range(COLUMNS):
        C[c : c + COLUMNS] += wrench[i + k] * A[a + distance * k : a + distance * k + COLUMNS]


def _write_multiple(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    rows.store(2, [rows.times(rows.equal(args[4]), rows.row(0, 0))])


@instructions(_write_multiple)
def multiply_row(A: Any, a: int, C: Any, c: int, factor: float) -> None:
    """Compute the row C = factor A."""
    C[c : c + COLUMNS] = factor * A[a : a + COLUMNS]


def _write_copy(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    rows.store(2, rows.rows(0, 1))


@instructions(_write_copy)
def copy_row(A: Any, a: int, C: Any, c: int) -> None:
    """Copy a row of A to C."""
    C[c : c + COLUMNS] = A[a : a + COLUMNS]


def _write_sum_of_rows(context: Any, builder: Any, types: Any, args: Any) -> None:
    rows = _Rows(context, builder, types, args)
    rows.store(2, [rows.plus(rows.row(2, 0), rows.times(rows.row(0, 0), rows.equal(args[4])))])


@instructions(_write_sum_of_rows)
def add_row(A: Any, a: int, C: Any, c: int, factor: float) -> None:
    """Add the row A, times a factor, to the row C."""
    C[c : c + COLUMNS] += factor * A[a : a + COLUMNS]
