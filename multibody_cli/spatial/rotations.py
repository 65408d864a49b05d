"""Rotations about an axis, by a rotation vector, by a unit quaternion (w, x, y, z), and their rates.

Source: Sueda, notes 2.4.8, (2.43)-(2.47) for the right Jacobian of exponential coordinates.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.symbolic.trigonometry import sine_and_cosine


@formula
def angle_of(sine, cosine):
    """Angle of a unit vector, in [-pi, pi]: the arc sine of its smaller component, in a third of the time of atan2."""
    if abs(cosine) < abs(sine):
        return math.copysign(0.5 * math.pi - math.asin(cosine), sine)
    angle = math.asin(sine)
    return angle if cosine > 0.0 else math.copysign(math.pi, sine) - angle


@formula
def rotation_about(u, s, c):
    """Rotation about the unit vector u by the angle of sine s and cosine c (Rodrigues)."""
    v = (1.0 - c) * u
    return Mat3(
        Vec3(c + v.x * u.x, v.x * u.y + s * u.z, v.x * u.z - s * u.y),
        Vec3(v.y * u.x - s * u.z, c + v.y * u.y, v.y * u.z + s * u.x),
        Vec3(v.z * u.x + s * u.y, v.z * u.y - s * u.x, c + v.z * u.z),
    )


@formula
def rotation_of_quaternion(w, x, y, z):
    """Rotation of a unit quaternion."""
    return Mat3(
        Vec3(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        Vec3(2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        Vec3(2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@formula
def quaternion_product(aw, a, bw, b):
    """(aw, a)(bw, b), as real part and vector part."""
    return aw * bw - dot(a, b), aw * b + bw * a + cross(a, b)


@formula
def quaternion_of_vector(p):
    """The unit quaternion exp(p/2) of a rotation vector p, as the pair (w, Vec3)."""
    cosine, half = half_angle_coefficients(0.25 * dot(p, p))
    return cosine, half * p


@formula
def half_angle_coefficients(z):
    """Cosine of t/2, and sin(t/2)/t, at z = t^2/4."""
    if z < 1e-2:
        cosine = 1.0 - z * (1.0 / 2.0 - z * (1.0 / 24.0 - z * (1.0 / 720.0 - z * (1.0 / 40320.0 - z / 3628800.0))))
        half = 0.5 - z * (1.0 / 12.0 - z * (1.0 / 240.0 - z * (1.0 / 10080.0 - z / 725760.0)))
        return cosine, half
    angle = math.sqrt(z)
    sine, cosine = sine_and_cosine(angle)
    return cosine, 0.5 * sine / angle


@formula
def half_angle_slope(z):
    """Derivative of sin(t/2)/t with respect to z = t^2/4."""
    if z < 1e-2:
        return -1.0 / 12.0 + z * (1.0 / 120.0 - z * (1.0 / 3360.0 - z * (1.0 / 181440.0 - z / 15966720.0)))
    cosine, half = half_angle_coefficients(z)
    return (0.5 * cosine - half) / (2.0 * z)


@formula
def vector_of_quaternion(w, u):
    """The rotation vector, of length at most pi, of the unit quaternion (w, u)."""
    return logarithm_coefficient(w, dot(u, u)) * u


@formula
def logarithm_coefficient(w, square):
    """Ratio of the rotation vector to u for the unit quaternion (w, u), u^2 = square."""
    sine = math.sqrt(square)
    sign = -1.0 if w < 0.0 else 1.0
    return sign * 2.0 if sine < 1e-7 else sign * (2.0 * math.atan2(sine, abs(w)) / sine)


@formula
def logarithm_slope(w, square):
    """Derivative of the logarithm coefficient with respect to u^2."""
    z = square / (w * w) if w != 0.0 else 1.0
    if z < 2.5e-3:
        series = 1.0 / 3.0 - z * (2.0 / 5.0 - z * (3.0 / 7.0 - z * (4.0 / 9.0 - z * (5.0 / 11.0 - z * 6.0 / 13.0))))
        return -2.0 * series / (w * w * w)
    return (w / (w * w + square) - 0.5 * logarithm_coefficient(w, square)) / square


@formula
def quaternion_of_rotation(R):
    """The unit quaternion (w, x, y, z) of a rotation matrix."""
    return quaternion_of_entries(R.x.x, R.x.y, R.x.z, R.y.x, R.y.y, R.y.z, R.z.x, R.z.y, R.z.z)


@formula
def quaternion_of_entries(xx, xy, xz, yx, yy, yz, zx, zy, zz):
    """The unit quaternion of a rotation matrix with columns x, y and z, from its largest component (Shepperd)."""
    if xx + yy + zz > 0.0:
        d = 2.0 * math.sqrt(1.0 + xx + yy + zz)
        return 0.25 * d, (yz - zy) / d, (zx - xz) / d, (xy - yx) / d
    if xx >= yy and xx >= zz:
        d = 2.0 * math.sqrt(1.0 + xx - yy - zz)
        return (yz - zy) / d, 0.25 * d, (yx + xy) / d, (zx + xz) / d
    if yy >= zz:
        d = 2.0 * math.sqrt(1.0 - xx + yy - zz)
        return (zx - xz) / d, (yx + xy) / d, 0.25 * d, (zy + yz) / d
    d = 2.0 * math.sqrt(1.0 - xx - yy + zz)
    return (xy - yx) / d, (zx + xz) / d, (zy + yz) / d, 0.25 * d


# --- exponential coordinates --------------------------------------------------------------------------------------
@formula
def exponential_coefficients(angle2):
    """b = (1 - cos t)/t^2, c = (t - sin t)/t^3 and their derivatives with respect to t^2/2, at t^2 = angle2."""
    if angle2 < 1e-2:
        b = 0.5 - angle2 * (1.0 / 24.0 - angle2 * (1.0 / 720.0 - angle2 * (1.0 / 40320.0 - angle2 / 3628800.0)))
        c = 1.0 / 6.0 - angle2 * (1.0 / 120.0 - angle2 * (1.0 / 5040.0 - angle2 / 362880.0))
        db = -1.0 / 12.0 + angle2 * (1.0 / 180.0 - angle2 * (1.0 / 6720.0 - angle2 / 453600.0))
        dc = -1.0 / 60.0 + angle2 * (1.0 / 1260.0 - angle2 * (1.0 / 60480.0 - angle2 / 4989600.0))
        return b, c, db, dc
    angle = math.sqrt(angle2)
    s, k = math.sin(angle), math.cos(angle)
    b = (1.0 - k) / angle2
    c = (angle - s) / (angle2 * angle)
    return b, c, (s / angle - 2.0 * b) / angle2, (b - 3.0 * c) / angle2


@formula
def right_jacobian_times(p, u):
    """J_r(p) u = u - b p x u + c p x (p x u): the body angular velocity of exp[p] when dp/dt = u."""
    b, c, _, _ = exponential_coefficients(dot(p, p))
    pu = cross(p, u)
    return u - b * pu + c * cross(p, pu)


@formula
def right_jacobian_rate_times(p, u):
    """(d/dt J_r(p)) u along dp/dt = u, the bias of exponential coordinates."""
    return right_jacobian_rate_along(p, u, u)


@formula
def right_jacobian_rate_along(p, u, e):
    """(d/dt J_r(p)) e along dp/dt = u, for any e."""
    b, c, db, dc = exponential_coefficients(dot(p, p))
    rate, pe, ue = dot(p, u), cross(p, e), cross(u, e)
    return (-rate * db) * pe - b * ue + (rate * dc) * cross(p, pe) + c * (cross(u, pe) + cross(p, ue))


@formula
def inverse_right_jacobian_times(p, w):
    """J_r(p)^-1 w = w + p x w / 2 + e p x (p x w): the rate of the rotation vector at body angular velocity w."""
    pw = cross(p, w)
    return w + 0.5 * pw + inverse_jacobian_coefficient(dot(p, p)) * cross(p, pw)


@formula
def inverse_jacobian_coefficient(angle2):
    """e = (1 - (t/2) cot(t/2))/t^2 at t^2 = angle2."""
    if angle2 < 1e-2:
        return 1.0 / 12.0 + angle2 * (1.0 / 720.0 + angle2 * (1.0 / 30240.0 + angle2 / 1209600.0))
    half = 0.5 * math.sqrt(angle2)
    return (1.0 - half * math.cos(half) / math.sin(half)) / angle2


@formula
def inverse_jacobian_slope(angle2):
    """Derivative of the coefficient e with respect to t^2."""
    if angle2 < 1e-2:
        return 1.0 / 720.0 + angle2 * (1.0 / 15120.0 + angle2 * (1.0 / 403200.0 + angle2 / 11975040.0))
    half = 0.5 * math.sqrt(angle2)
    sine = math.sin(half)
    rate = (half / (sine * sine) - math.cos(half) / sine) / angle2
    return (rate - 2.0 * inverse_jacobian_coefficient(angle2) / half) / (8.0 * half)
