"""Mass matrix and bias of a tree, M(q) dv/dt + h(q, v) = tau, as formulas.

    M = sum_i S_i^T I_i S_i
    h = sum_i S_i^T (I_i (dS_i/dt) v - ad(V_i)^T I_i V_i - w_i),     V_i = S_i v

with the weight w_i = [c x m R^T g; m R^T g] of each body in its own axes.

Source: Si and Guenter 2011, (16), (50)-(53); Sueda, notes (2.15).
"""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.equations.chain import Chain, vector_of
from multibody_cli.joints.joint_map import PoseAndSubspace, cross, dot, transposed_times
from multibody_cli.model import Tree
from multibody_cli.spatial.values import Force, Motion, Sym3, Vec3
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.scalar import Scalar, Value


class Terms(NamedTuple):
    """M (n, n), row by row, and h (n,)."""

    M: list[list[Value]]
    h: list[Value]


class _Body(NamedTuple):
    """Inertia of a body: mass, centre of mass and central inertia in the axes of its joint frame."""

    mass: float
    com: Vec3
    central: Sym3

    def __matmul__(self, a: Motion) -> Force:
        f = self.mass * (a.v + cross(a.w, self.com))
        return Force(self.central @ a.w + cross(self.com, f), f)


def terms_of(tree: Tree, chain: Chain) -> Terms:
    """Return M and h of a tree."""
    n = len(chain.coordinates.v)
    M: list[list[Value]] = [[0.0] * n for _ in range(n)]
    h: list[Value] = [0.0] * n
    g = vector_of(tree.gravity)
    rates = _rates(chain)
    for link, moved in zip(tree.links[1:], chain.bodies[1:], strict=True):
        body = _Body(float(link["mass"]), vector_of(link["com"]), Sym3(*map(float, link["central"])))
        moving = [j for j, s in enumerate(moved.S) if any((*s.w, *s.v))]
        p = _wrench(body, moved, chain, rates, g if not link["ignores_gravity"] else 0.0 * g)
        for j in moving:
            h[j] = h[j] + _power(moved.S[j], p)
            momentum = body @ moved.S[j]
            for k in moving:
                if k <= j:
                    M[j][k] = M[j][k] + _power(moved.S[k], momentum)
    for j in range(n):
        if tree.armature[j] > 0.0:
            M[j][j] = M[j][j] + float(tree.armature[j])
        for k in range(j):
            M[k][j] = M[j][k]
    return Terms(M, h)


def _rates(chain: Chain) -> dict[Scalar, Value]:
    """Time derivatives of q."""
    rates: dict[Scalar, Value] = {}
    for v, direction in zip(chain.coordinates.v, chain.coordinates.along, strict=True):
        for q, share in direction.items():
            rates[q] = rates.get(q, 0.0) + share * v
    return rates


def _wrench(body: _Body, moved: PoseAndSubspace, chain: Chain, rates: dict[Scalar, Value], g: Vec3) -> Force:
    """Inertial wrench of the body at dv/dt = 0, less its weight."""
    V = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    for s, v in zip(moved.S, chain.coordinates.v, strict=True):
        if any((*s.w, *s.v)):
            V = V + v * s
    bias = differentiate([*V.w, *V.v], rates)  # v is constant here
    momentum, inertial = body @ V, body @ Motion(Vec3(*bias[:3]), Vec3(*bias[3:]))
    weight = body.mass * transposed_times(moved.R, g)
    gyroscopic = cross(V.w, momentum.t) + cross(V.v, momentum.f)
    return Force(
        inertial.t + gyroscopic - cross(body.com, weight),
        inertial.f + cross(V.w, momentum.f) - weight,
    )


def _power(s: Motion, p: Force) -> Value:
    return dot(s.w, p.t) + dot(s.v, p.f)
