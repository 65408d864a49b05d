"""The catalogue of methods."""

from __future__ import annotations

from multibody_cli.methods.aba import ABA
from multibody_cli.methods.baraff import BARAFF
from multibody_cli.methods.contract import MethodKind
from multibody_cli.methods.redmax import REDMAX

METHODS_LATER = ("variational", "variational_maximal", "symbolic")
"""Methods that the format knows and this version does not support."""

METHODS: dict[str, MethodKind] = {kind.name: kind for kind in (ABA, REDMAX, BARAFF)}
