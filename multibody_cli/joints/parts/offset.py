"""Offset part: a constant displacement, without coordinates.

X = (1, d), S is empty and c = 0.  Between two parts it separates their anchors.

Source: Sueda, notes 2.4.9.
"""

from __future__ import annotations

from multibody_cli.joints.parts.crossing import Crossing
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Motion


@formula
def across(part, P):
    """Cross an offset from the orientation P of its inner frame."""
    return Crossing(P, P @ load(part.slide), Motion(ZERO, ZERO), Motion(ZERO, ZERO))
