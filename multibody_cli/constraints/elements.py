"""Everything that restrains beside the joints themselves, as one block of arrays, and the kernel that runs them all.

To add a constraint: a file with its dtype and `write`, a field and a dtype here, and its line in the kernel below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraints import limit
from multibody_cli.kernel import kernel
from multibody_cli.signals import Signals

Records = NDArray[np.void]


class Constraints(NamedTuple):
    """The constraints of a model, one table a kind."""

    signals: Signals
    limits: Records


DTYPES = {"limits": limit.LIMIT}
"""The dtype of each table of `Constraints`."""


@kernel
def write_constraints(constraints, t, q, bodies, rows, terms):
    """Write the rows of every constraint, for placed bodies."""
    limit.write(constraints.limits, q, rows, terms)
