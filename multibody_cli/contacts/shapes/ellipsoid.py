"""Ellipsoids against planes."""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.patch import write_contact
from multibody_cli.kernel import kernel
from multibody_cli.spatial.products import dot, scaled, transposed_times


@kernel
def plane_ellipsoid(a, b, margin, contacts, n):
    """Write the contact at the point with a parallel tangent plane: diag(r)^2 m / |diag(r) m| with m = R^T normal."""
    normal = a.R.z
    m = scaled(b.size, transposed_times(b.R, normal))
    p = b.x - (1.0 / math.sqrt(dot(m, m))) * (b.R @ scaled(b.size, m))
    height = dot(normal, p - a.x)
    return write_contact(contacts, n, margin, p - height * normal, normal, height, 0)
