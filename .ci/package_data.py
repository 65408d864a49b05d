"""Build hook of hatch: scenes and commit are package data, and a wheel with compiled code is for one platform."""

from __future__ import annotations

import platform
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackageData(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """Takes into the package what a checkout has beside it, or git ignores."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files, and the platform."""
        if version == "editable":
            return
        package = Path(self.root) / "multibody_cli"
        commit = runpy.run_path(str(package / "version.py"))["commit"]()
        if commit:
            self._folder = tempfile.TemporaryDirectory()  # removed when the build ends
            recorded = Path(self._folder.name) / "commit"
            recorded.write_text(commit, encoding="utf-8")
            build_data["force_include"][str(recorded)] = "multibody_cli/commit"
        if self.target_name == "wheel":
            build_data["force_include"][str(Path(self.root) / "scenes")] = "multibody_cli/scenes"
            if (package / "kernel" / "shipped").is_dir():
                build_data["artifacts"].append("multibody_cli/kernel/shipped/**")
                build_data["pure_python"] = False
                if sys.platform == "linux":  # the code calls functions of libm alone, the digests are of one Python
                    interpreter = f"cp{sys.version_info.major}{sys.version_info.minor}"
                    build_data["tag"] = f"{interpreter}-none-manylinux_2_17_{platform.machine()}"
                else:
                    build_data["infer_tag"] = True
