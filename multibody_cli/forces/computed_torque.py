"""Records of the coordinates whose accelerations are commanded: see `tree.computed_torque`."""

from __future__ import annotations

import numpy as np

COMMAND = np.dtype([("row", "i8"), ("iv", "i8"), ("signal", "i8"), ("account", "i8")])
"""One row per commanded coordinate: the row of its body, and the signal of its acceleration."""
