"""Steps of higher order, composed of symmetric second-order steps of other lengths, some of them negative.

A composition of variational steps is variational.  The basic step is symmetric and the sequence of lengths is
symmetric, so that the composed step is symmetric and of even order.

Sources: Suzuki, Phys. Lett. A 146 (1990), for order 4; Kahan and Li, Math. Comp. 66 (1997), for order 6; both in
Hairer, Lubich and Wanner, Geometric Numerical Integration, V.3.2, (3.8) and (3.12).
"""

from __future__ import annotations

_OUTER = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
_LI = (0.39216144400731413928, 0.33259913678935943860, -0.70624617255763935981, 0.082213596293550800230)

STAGES: dict[int, tuple[float, ...]] = {
    1: (1.0,),
    2: (1.0,),
    4: (_OUTER, _OUTER, 1.0 - 4.0 * _OUTER, _OUTER, _OUTER),
    6: (*_LI, 1.0 - 2.0 * sum(_LI), *reversed(_LI)),
}
"""Lengths of the basic steps as fractions of the composed step, by its order."""
