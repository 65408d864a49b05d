"""Count of the degrees of freedom: those of the bodies, less independent constraints (Gruebler and Kutzbach)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multibody_cli.initial.assemble import Assembler
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.studies.doctor.subject import Subject


@dataclass(frozen=True)
class DofCount:
    """total = of_bodies - of_joints - of_constraints - prescribed + redundant.

    Parameters
    ----------
    total
        Degrees of freedom at the start.
    bodies, of_bodies
        Number of bodies, and their degrees of freedom without joints.
    joints, of_joints
        Number of joints, and their constraints, without those of prescribed motion.
    constraints, of_constraints
        Number of couplings and constraints, and their rows.
    prescribed
        Coordinates with prescribed motion.
    redundant
        Rows that depend on others at the start.
    """

    total: int
    bodies: int
    of_bodies: int
    joints: int
    of_joints: int
    constraints: int
    of_constraints: int
    prescribed: int
    redundant: int


def dependent_rows(subject: Subject) -> list[int]:
    """Return the constraint rows that depend on others at the start."""
    if subject.start is None or not len(subject.start[0].system.rows):
        return []
    return Assembler(*subject.start).dependent_rows()


def count_dofs(subject: Subject) -> DofCount | None:
    """Count the degrees of freedom of a scene; None with affine bodies."""
    if subject.start is None:
        return None
    model, scene = subject.start[0], subject.scene
    tree, rows = model.system.tree, model.system.rows
    of_bodies = sum(KINDS[body.kind].n_dofs for body in scene.bodies.values())
    of_tree = int(tree.links["nv"].sum())
    of_loops = int((tree.closures["last_row"] - tree.closures["first_row"]).sum())
    prescribed = int(np.count_nonzero(tree.driven))
    of_constraints = int(np.count_nonzero(rows["one_sided"] == 0)) - of_loops
    of_joints = of_bodies - of_tree + of_loops - int(np.count_nonzero(tree.driven[of_tree:]))
    redundant = len(dependent_rows(subject))
    return DofCount(
        of_bodies - of_joints - of_constraints - prescribed + redundant,
        len(scene.bodies),
        of_bodies,
        len(scene.joints),
        of_joints,
        len(scene.couplings) + len(scene.constraints),
        of_constraints,
        prescribed,
        redundant,
    )
