"""Linear independence of the columns of S: how close the coordinates of a joint are to a singular configuration."""

from __future__ import annotations

import math

from multibody_cli.kernel import kernel


@kernel
def compute_column_independence(columns, length, sizes, firsts, lasts, basis, independence):
    """Normalized distance of each column of S from the span of the columns before it: the smallest one of each joint.

    The result is between 0 and 1, and at least the smallest singular value of the columns scaled by their usual
    norms.  Translations are relative to `length`, m.  `sizes` (n,) are these norms, `firsts` and `lasts` (m,) the
    column range of each joint, `basis` (6, 6) is scratch, `independence` (m,) is the result.  The method is modified
    Gram-Schmidt.
    """
    for k in range(len(firsts)):
        least = 1.0
        for j in range(firsts[k], lasts[k]):
            row, column = basis[j - firsts[k]], columns[j]
            for i in range(3):
                row[i] = column.angular[i] / sizes[j]
                row[3 + i] = column.linear[i] / (length * sizes[j])
            for r in range(j - firsts[k]):
                projection = 0.0
                for i in range(6):
                    projection += basis[r, i] * row[i]
                for i in range(6):
                    row[i] -= projection * basis[r, i]
            square = 0.0
            for i in range(6):
                square += row[i] * row[i]
            residual = math.sqrt(square)
            least = min(least, residual)
            if residual > 0.0:
                for i in range(6):
                    row[i] /= residual
        independence[k] = least
