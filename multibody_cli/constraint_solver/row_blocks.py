"""Elimination of one block of constraint rows: factors, rank, and the reduction of the blocks that follow.

For the block b with the diagonal block S of the multipliers x, after all blocks before it,

    K^T a + S x + sum_o L_ob^T x_o = y        x = S^+ (y - K^T a - sum_o L_ob^T x_o)

with the acceleration a of the body at which it closes, and its neighbours o.  Elimination leaves

    A + K S^+ K^T       K_o - K S^+ L_ob^T       L_op - L_ob S^+ L_pb^T

S^+ is the least-norm solution.  A combination z of the rows without any effect, z^T J = 0, has K z = 0 and L_ob z = 0,
so that the elimination is exact.  A dependence with rows of other blocks appears as a rank of S below that of the block
before its reduction; the elimination then fails.
"""

from __future__ import annotations

import math

from multibody_cli.constraint_solver.ineffective_rows import row_size
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.pivoted_lu import DEPENDENT_PIVOT, NEGLIGIBLE, factor_relative, solve_least_norm
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force, power

DOUBTFUL_PIVOT = 1e-6
"""Relative pivot below which a block is factored with pivots: without them, round-off of small pivots grows."""


@kernel
def factor_block(plan, block) -> bool:
    """Factor the diagonal block of a block; return whether all its dependences are local.

    Rows without effect get no multipliers.
    """
    L, reduction, factors = plan.L, plan.reduction, plan.factors
    first, n, address = block.first, block.last - block.first, block.address
    for i in range(n):
        own = L[address + (n + 1) * i]
        if own <= plan.threshold[first + i]:
            if not block.local:
                return False
            drop_row(plan, block, i)
    block.pivoted = 0
    for i in range(n):
        entry = address + n * i
        for j in range(i + 1):
            total = L[entry + j] - reduction[entry + j]
            for h in range(j):
                total -= factors[entry + h] * factors[address + n * j + h] * factors[address + (n + 1) * h]
            if j < i:
                factors[entry + j] = total
            elif plan.threshold[first + i] == math.inf:
                factors[entry + i] = 0.0
            else:
                least = DOUBTFUL_PIVOT if block.local else DEPENDENT_PIVOT
                if not total > least * row_size(L[entry + i], plan.unconstrained[first + i]):
                    return bool(block.local) and factor_dependent_block(plan, block)
                factors[entry + i] = 1.0 / total
    return True


@kernel
def drop_row(plan, block, i):
    """Remove row i of a block: no multiplier, no effect."""
    n, first = block.last - block.first, block.first
    plan.threshold[first + i] = math.inf
    for j in range(n):
        entry = max(i, j) * n + min(i, j)
        plan.L[block.address + entry] = plan.reduction[block.address + entry] = 0.0
    for k in range(block.first_neighbour, block.last_neighbour):
        neighbour = plan.neighbours[k]
        other = plan.blocks[neighbour.block]
        for j in range(other.last - other.first):
            entry = neighbour.address + n * j + i
            plan.L[entry] = plan.reduction[entry] = 0.0
    if block.slot >= 0:
        K = plan.K[block.slot + i]
        for j in range(3):
            K.t[j] = K.f[j] = 0.0


@kernel
def factor_dependent_block(plan, block) -> bool:
    """Factor a block with dependent rows, with pivots; return whether the rank is that of the unreduced block."""
    pivoted, n = plan.block, block.last - block.first
    floor = 0.0
    for i in range(n):
        floor = max(floor, NEGLIGIBLE * plan.L[block.address + (n + 1) * i])
    load_rows(plan, block, 0.0)
    unreduced = factor_relative(pivoted, n, floor)
    load_rows(plan, block, 1.0)
    rank = factor_relative(pivoted, n, floor)
    block.pivoted, block.rank = 1, rank
    for i in range(n):
        plan.order[block.first + i] = pivoted.rows[i]
        for j in range(i + 1):
            plan.factors[block.address + n * i + j] = pivoted.A[i, j]
    return rank == unreduced


@kernel
def load_rows(plan, block, reduced):
    """Copy the diagonal block, less `reduced` times its reduction, to the scratch for pivoted factors."""
    pivoted, n = plan.block, block.last - block.first
    for i in range(n):
        pivoted.rows[i] = i
        pivoted.diagonal[i] = row_size(plan.L[block.address + (n + 1) * i], plan.unconstrained[block.first + i])
        for j in range(i + 1):
            entry = block.address + n * i + j
            pivoted.A[i, j] = plan.L[entry] - reduced * plan.reduction[entry]


@kernel
def solve_rows(plan, block, y):
    """Replace y (n,) by S^+ y."""
    if block.pivoted:
        solve_dependent_rows(plan, block, y)
        return
    n, address, factors = block.last - block.first, block.address, plan.factors
    for i in range(n):
        for j in range(i):
            y[i] -= factors[address + n * i + j] * factors[address + (n + 1) * j] * y[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            y[i] -= factors[address + n * j + i] * y[j]
        y[i] *= factors[address + (n + 1) * i]


@kernel
def solve_dependent_rows(plan, block, y):
    """`solve_rows` with pivoted factors: the solution of least norm."""
    pivoted, n = plan.block, block.last - block.first
    for i in range(n):
        pivoted.diagonal[i] = y[plan.order[block.first + i]]
        for j in range(i + 1):
            pivoted.A[i, j] = plan.factors[block.address + n * i + j]
    solve_least_norm(pivoted, block.rank, n, pivoted.diagonal, plan.null_component)
    for i in range(n):
        y[plan.order[block.first + i]] = pivoted.diagonal[i]


@kernel
def reduce_neighbours(plan, block):
    """Finish the couplings of a factored block, and add its reductions to the entries of its neighbours."""
    n, update, y = block.last - block.first, block.first_update, plan.solution
    neighbours, blocks, L, reduction = plan.neighbours, plan.blocks, plan.L, plan.reduction
    for k in range(block.first_neighbour, block.last_neighbour):
        one = neighbours[k]
        height = blocks[one.block].last - blocks[one.block].first
        for entry in range(one.address, one.address + n * height):
            L[entry] -= reduction[entry]
        for i in range(height):
            if not load_coupling(L, one.address + n * i, n, y):
                continue
            solve_rows(plan, block, y)
            if block.slot >= 0:
                reduce_wrench(plan, block, plan.K[one.slot + i])
            for h in range(block.first_neighbour, k + 1):
                two = neighbours[h]
                width = blocks[two.block].last - blocks[two.block].first
                target = plan.updates[update + h - block.first_neighbour] + width * i
                for g in range(i + 1 if h == k else width):
                    total = 0.0
                    for j in range(n):
                        total += L[two.address + n * g + j] * y[j]
                    reduction[target + g] += total
        update += k + 1 - block.first_neighbour


@kernel
def load_coupling(L, address, n, y) -> bool:
    """Copy the coupling of one row into y (n,); return whether any entry is not 0."""
    coupled = False
    for j in range(n):
        y[j] = L[address + j]
        coupled = coupled or y[j] != 0.0
    return coupled


@kernel
def reduce_wrench(plan, block, K):
    """Subtract K_b y for the multipliers y in plan.solution from the wrench of a row of a neighbour."""
    W = load_force(K)
    for j in range(block.last - block.first):
        W = W - plan.solution[j] * load_force(plan.K[block.slot + j])
    store_force(K, W)


@kernel
def substitute_rows(plan, block) -> int:
    """Write K S^+ K^T as a sum of d V V^T, with V and d in plan.substituted and plan.solution; return its length."""
    n, factors = block.last - block.first, plan.factors
    count = block.rank if block.pivoted else n
    for i in range(count):
        entry, row = block.address + n * i, plan.order[block.first + i] if block.pivoted else i
        V = load_force(plan.K[block.slot + row])
        for j in range(i):
            scale = 1.0 if block.pivoted else factors[block.address + (n + 1) * j]
            V = V - (scale * factors[entry + j]) * load_force(plan.substituted[j])
        store_force(plan.substituted[i], V)
        plan.solution[i] = 1.0 / factors[entry + i] if block.pivoted else factors[entry + i]
    return count


@formula
def closed_wrench(plan, block):
    """Wrench K y of the multipliers y in plan.solution."""
    W = no_force()
    for j in range(block.last - block.first):
        W = W + plan.solution[j] * load_force(plan.K[block.slot + j])
    return W


@kernel
def reduce_rhs(plan, block):
    """Solve a block for its right-hand side alone, into plan.solution, and add its effect to the neighbours."""
    n, y = block.last - block.first, plan.solution
    for j in range(n):
        y[j] = plan.rhs[block.first + j] - plan.ell[block.first + j]
    solve_rows(plan, block, y)
    for k in range(block.first_neighbour, block.last_neighbour):
        neighbour = plan.neighbours[k]
        first = plan.blocks[neighbour.block].first
        for i in range(plan.blocks[neighbour.block].last - first):
            for j in range(n):
                plan.ell[first + i] += plan.L[neighbour.address + n * i + j] * y[j]


@formula
def reduce_blocks(plan, i):
    """Eliminate the right-hand sides of the blocks that close at body i, and return their wrench on it."""
    W = no_force()
    for b in range(plan.links[i].first_block, plan.links[i].last_block):
        reduce_rhs(plan, plan.blocks[b])
        if i > 0:
            W = W + closed_wrench(plan, plan.blocks[b])
    return W


@formula
def solve_blocks(plan, i, a):
    """Compute the multipliers of the blocks that close at body i, for its motion a."""
    for b in range(plan.links[i].last_block - 1, plan.links[i].first_block - 1, -1):
        read_residual(plan, plan.blocks[b])
        if i > 0:
            subtract_motion(plan, plan.blocks[b], a)
        solve_for_multipliers(plan, plan.blocks[b])


@kernel
def solve_for_multipliers(plan, block):
    """Compute the multipliers x of a block from y - K^T a in plan.solution and the multipliers of its neighbours."""
    n, y = block.last - block.first, plan.solution
    for k in range(block.first_neighbour, block.last_neighbour):
        neighbour = plan.neighbours[k]
        first = plan.blocks[neighbour.block].first
        for i in range(plan.blocks[neighbour.block].last - first):
            for j in range(n):
                y[j] -= plan.L[neighbour.address + n * i + j] * plan.x[first + i]
    solve_rows(plan, block, y)
    for j in range(n):
        plan.x[block.first + j] = y[j]


@kernel
def read_residual(plan, block):
    """Set plan.solution to the right-hand side of a block less its acceleration due to forces."""
    for j in range(block.last - block.first):
        plan.solution[j] = plan.rhs[block.first + j] - plan.ell[block.first + j]


@formula
def subtract_motion(plan, block, a):
    """Subtract K^T a, for the motion a of the body where a block closes, from plan.solution."""
    for j in range(block.last - block.first):
        plan.solution[j] -= power(a, load_force(plan.K[block.slot + j]))
