"""What hatch asks while it builds a wheel: with compiled code inside, the wheel is one for this platform and Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ShippedCode(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """Takes `multibody_cli/kernel/shipped`, which git ignores, into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folder, and the platform."""
        shipped = Path(self.root) / "multibody_cli" / "kernel" / "shipped"
        if version == "standard" and shipped.is_dir():
            build_data["artifacts"].append("multibody_cli/kernel/shipped/**")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
