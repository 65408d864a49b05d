"""The catalogue of methods."""

from __future__ import annotations

from multibody_cli.methods.aba import Aba
from multibody_cli.methods.contract import MethodKind

METHODS_LATER = ("redmax", "baraff", "variational", "variational_maximal", "symbolic")
"""Methods that the format knows and this version does not support."""

METHODS: dict[str, MethodKind] = {kind.name: kind for kind in (Aba,)}
