"""Twists and wrenches of all bodies as one vector (6 nb,), [w; v] or [t; f] of bodies 1, 2, ..., and the dense J."""

from __future__ import annotations

import numpy as np
import oracle


def jacobian_of_poses(machine, q, v):
    """J (6 nb, nv) from the oracle's derivatives of the poses of all joint frames."""
    blocks = []
    for body in oracle.place(machine.tree_links, q, v):
        spins = oracle.vee(body.joint_R.first @ body.joint_R.value.T)
        blocks += [spins[:-1].T, body.joint_x.first[:-1, :, 0].T]
    return np.vstack(blocks).astype(float)


def free_columns(packed, J):
    """J with 0 for the columns of prescribed coordinates."""
    return np.where(packed.tree.tree.driven, 0.0, J)


def placed(work, angular, linear):
    """Two fields of all bodies."""
    return np.hstack([work.bodies[angular], work.bodies[linear]])[1:].ravel()


def put_wrenches(work, y):
    """Lay wrenches on all bodies."""
    work.wrenches["t"][0] = work.wrenches["f"][0] = 0.0
    work.wrenches["t"][1:], work.wrenches["f"][1:] = np.split(y.reshape(-1, 6), 2, axis=1)
