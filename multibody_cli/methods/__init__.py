"""The catalogue of methods."""

from __future__ import annotations

from multibody_cli.methods.aba import ABA
from multibody_cli.methods.baraff import BARAFF
from multibody_cli.methods.contract import Integrator, MethodKind
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.redmax import REDMAX
from multibody_cli.methods.symbolic import SYMBOLIC
from multibody_cli.methods.variational import VARIATIONAL
from multibody_cli.methods.variational_maximal import VARIATIONAL_MAXIMAL

METHODS_LATER: tuple[str, ...] = ()
"""Methods that the format knows and this version does not support."""

METHODS: dict[str, MethodKind] = {
    kind.name: kind for kind in (ABA, REDMAX, SYMBOLIC, BARAFF, VARIATIONAL, VARIATIONAL_MAXIMAL)
}


def integrator_of(method: str, integrator: str) -> Integrator:
    """Give the integrator with which a method runs: its own, or the one of that name."""
    return METHODS[method].own_integrator or INTEGRATORS[integrator]
