"""How independently the coordinates of a joint move it: what each column of S has of its own."""

from __future__ import annotations

import math

from multibody_cli.kernel import kernel


@kernel
def find_shares(columns, sizes, firsts, lasts, basis, shares):
    """Smallest share, between 0 and 1, of a column of S that those before it do not span, for each joint.

    `sizes` (n,) are the lengths that the columns usually have, `firsts` and `lasts` (m,) the columns of each joint,
    `basis` (6, 6) is scratch, `shares` (m,) is written.  Modified Gram-Schmidt; a share is no less than the smallest
    singular value of the columns in their usual lengths.
    """
    for k in range(len(firsts)):
        smallest = 1.0
        for j in range(firsts[k], lasts[k]):
            row, column = basis[j - firsts[k]], columns[j]
            for i in range(3):
                row[i] = column.angular[i] / sizes[j]
                row[3 + i] = column.linear[i] / sizes[j]
            for r in range(j - firsts[k]):
                part = 0.0
                for i in range(6):
                    part += basis[r, i] * row[i]
                for i in range(6):
                    row[i] -= part * basis[r, i]
            square = 0.0
            for i in range(6):
                square += row[i] * row[i]
            left = math.sqrt(square)
            smallest = min(smallest, left)
            if left > 0.0:
                for i in range(6):
                    row[i] /= left
        shares[k] = smallest
