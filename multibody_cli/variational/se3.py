"""Discrete motions by the logarithm in SE(3): the term that couples translation and rotation in a discrete Lagrangian.

Lee, Liu, Park and Srinivasa measure the displacement of a body by its logarithm in SE(3), that is by the screw motion
from one pose to the next.  With the displacement D = c' - c of the center of mass and the unit quaternion (s, u) of the
rotation, y = u . u, and the factor a(y) of the rotation vector a u (`discrete_motion`), the translational part of the
logarithm about the center of mass is longer than D, by a / 2 across the axis of rotation.  In comparison with the
rotation vector and the displacement of the center of mass, the discrete Lagrangian has the additional term

    m w |u x D|^2 / (2 h),      w(y) = (a^2 / 4 - 1) / y

With C = u x D, b = u . D, G = D x C and q = |C|^2, its momenta at the end of the step are

    p = m w (y D - b u) / h                              linear
    l = m (w (s G - b C) + w_y s q u) / (2 h)            angular, about the center of mass there

Momenta in space are the same at both ends, since the term does not change under motions of the whole: l at the start is
l at the end + D x p, about the center of mass at the start, which is m (w (s G + b C) + w_y s q u) / (2 h).

Rotations about a fixed axis are exact, but free flight is not: across the axis of its rotation by phi in a step, a body
moves by the factor (2 sin(phi / 2) / phi)^2 of its displacement.

Source: Lee, Liu, Park and Srinivasa 2016, (10), (16)-(21).
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spatial.values import Force, Vec3

SMALL = 3e-3
"""y below which the power series of w is used: 6.3 degrees."""


@formula
def coupling_factor(y, a, slope, curve):
    """Return w and its derivatives w_y and w_yy, given the factor a(y) of the rotation vector and its derivatives."""
    if y < SMALL:  # the power series of (asin(x)^2 / x^2 - 1) / x^2 in y = x^2
        w = 1 / 3 + y * (8 / 45 + y * (4 / 35 + y * (128 / 1575 + y * (128 / 2079 + y * (1024 / 21021)))))
        w_y = 8 / 45 + y * (8 / 35 + y * (128 / 525 + y * (512 / 2079 + y * (5120 / 21021))))
        return w, w_y, 8 / 35 + y * (256 / 525 + y * (512 / 693 + y * (20480 / 21021)))
    w = (0.25 * a * a - 1.0) / y
    w_y = (0.5 * a * slope - w) / y
    return w, w_y, (0.5 * (slope * slope + a * curve) - 2.0 * w_y) / y


@formula
def coupling_momentum(m, D, s, u, factor):
    """Return the momenta (l, p), times h, at the end of the step, about the center of mass there."""
    w, w_y, _ = factor
    C, b = cross(u, D), dot(u, D)
    q, sG = dot(C, C), s * cross(D, C)
    return Force((0.5 * m) * (w * (sG - b * C) + (w_y * s * q) * u), (m * w) * (dot(u, u) * D - b * u))


@formula
def coupling_energy(m, D, u, factor):
    """Return the term, times h: its part of the discrete kinetic energy, times h^2."""
    C = cross(u, D)
    return 0.5 * m * factor[0] * dot(C, C)


@formula
def coupling_change(m, D, s, u, factor, turn, dD):
    """Return the change of the momenta (l, p) at the start, times h, if the end turns by `turn` and moves by dD.

    The angular momentum is about the center of mass at the start; both changes are small, in world axes.
    """
    w, w_y, w_yy = factor
    C, b, y = cross(u, D), dot(u, D), dot(u, u)
    G, q = cross(D, C), dot(C, C)
    du, ds = 0.5 * (s * turn + cross(turn, u)), -0.5 * dot(u, turn)
    dy, db, dC = 2.0 * dot(u, du), dot(du, D) + dot(u, dD), cross(du, D) + cross(u, dD)
    dG, dq = cross(dD, C) + cross(D, dC), 2.0 * dot(C, dC)
    dp = (w_y * dy) * (y * D - b * u) + w * (dy * D + y * dD - db * u - b * du)
    dl = (w_y * dy) * (s * G + b * C) + w * (ds * G + s * dG + db * C + b * dC)
    dl = dl + (w_yy * dy * s * q + w_y * (ds * q + s * dq)) * u + (w_y * s * q) * du
    return Force((0.5 * m) * dl, m * dp)


@kernel
def add_coupling_derivative(wrenches, k, m, D, s, u, factor, r, e):
    """Add the derivative of the term to the six rows from k on (`discrete_motion.write_derivative`)."""
    for j in range(3):
        axis = Vec3(1.0 * (j == 0), 1.0 * (j == 1), 1.0 * (j == 2))
        F = coupling_change(m, D, s, u, factor, axis, cross(axis, e))
        add_to_rows(wrenches, k, F.t + cross(r, F.f), F.f, j, True)
        F = coupling_change(m, D, s, u, factor, ZERO, axis)
        add_to_rows(wrenches, k, F.t + cross(r, F.f), F.f, j, False)


@formula
def add_to_rows(wrenches, k, t, f, j, is_turn):
    """Add a wrench to column j of the six rows from k on, of the angular or of the linear part of the twist."""
    numbers = (t.x, t.y, t.z, f.x, f.y, f.z)
    for i in range(6):
        if is_turn:
            wrenches[k + i].t[j] += numbers[i]
        else:
            wrenches[k + i].f[j] += numbers[i]
