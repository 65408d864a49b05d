"""Where the blocks of an unsymmetric KKT tree lie: as in `kkt.nodes`, with two more sides of each constraint.

    block      freedoms x freedoms           D, all of it
    near       rows x freedoms               J on the body's side: what the rows push with
    far        rows x the parent's freedoms  J on the parent's side
    near_aim   rows x freedoms               K on the body's side: what the rows ask of the motion
    far_aim    rows x the parent's freedoms  K on the parent's side
    lower      rows x rows                   the factors of the constraint: Q below the diagonal, P^T from it on

`near_block(tree, i, "near_aim")` and `far_block(tree, i, "far_aim")` are the views of K.
"""

from __future__ import annotations

from collections.abc import Sequence

from multibody_cli.kkt.nodes import KktTree, lay_out
from multibody_cli.model import Records


def ldu_tree_for(holders: Records, freedoms: Sequence[int]) -> KktTree:
    """Lay out the blocks of a tree, from the arguments of `kkt_tree_for`."""
    return lay_out(holders, freedoms, "near", "far", "near_aim", "far_aim")
