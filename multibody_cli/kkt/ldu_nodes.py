"""Memory layout of an unsymmetric KKT tree: that of `kkt.nodes`, with two more blocks of each constraint.

    block      dofs x dofs               D, all of it
    near       rows x dofs               J on the body's side: directions of the constraint impulses
    far        rows x the parent's dofs  J on the parent's side
    near_k     rows x dofs               K on the body's side: constraint rows for the motion
    far_k      rows x the parent's dofs  K on the parent's side
    lower      rows x rows               factors of the constraint: Q below the diagonal, P^T from it on

`near_block(tree, i, "near_k")` and `far_block(tree, i, "far_k")` are the views of K.
"""

from __future__ import annotations

from collections.abc import Sequence

from multibody_cli.kkt.nodes import KktTree, lay_out
from multibody_cli.model import Records


def ldu_tree_for(inboard_joints: Records, n_dofs: Sequence[int]) -> KktTree:
    """Allocate the blocks of a tree; arguments as of `kkt_tree_for`."""
    return lay_out(inboard_joints, n_dofs, "near", "far", "near_k", "far_k")
