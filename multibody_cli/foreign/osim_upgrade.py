"""Files of OpenSim before version 4, which OpenSim itself upgrades, in a process of its own.

This file is also the program of the process, which imports nothing of the package.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

LONGEST = 120.0
"""Longest time of an upgrade, s."""


class UpgradeError(Exception):
    """OpenSim is absent, or fails; the message is one line."""


def upgraded(path: Path) -> bytes:
    """Return a file in the form of the installed version of OpenSim; an `UpgradeError` if it cannot be had."""
    if importlib.util.find_spec("opensim") is None:
        remedy = "open the file in OpenSim 4 and save it, or pip install opensim"
        raise UpgradeError(f"a file before OpenSim 4, which OpenSim itself upgrades: {remedy}")
    with tempfile.TemporaryDirectory() as folder:  # OpenSim writes its log into the working directory
        output = Path(folder, "upgraded.osim")
        command = [sys.executable, "-P", __file__, str(path.absolute()), str(output)]
        try:
            found = subprocess.run(command, capture_output=True, cwd=folder, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            raise UpgradeError(f"OpenSim did not upgrade the file within {LONGEST:g} s") from None
        if found.returncode != 0 or not output.exists():
            message = (found.stderr or found.stdout).decode(errors="replace").rpartition("Error: ")[2]
            raise UpgradeError(f"OpenSim does not upgrade the file: {' '.join(message.split())[:300]}")
        return output.read_bytes()


def _print_upgraded(path: str, output: str) -> None:
    import opensim

    opensim.Logger.setLevelString("off")
    opensim.IO.SetPrecision(17)  # digits of numbers, of which it writes 8
    opensim.Model(path).printToXML(output)


if __name__ == "__main__":
    _print_upgraded(*sys.argv[1:])
