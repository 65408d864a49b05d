"""The catalogue of methods."""

from __future__ import annotations

from multibody_cli.methods.aba import Aba
from multibody_cli.methods.contract import MethodKind

METHODS: dict[str, MethodKind] = {kind.name: kind for kind in (Aba,)}
