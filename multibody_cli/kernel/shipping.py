"""Build a wheel that contains compiled code: `python -m multibody_cli.kernel.shipping DIST`, in a checkout.

For each level of x86-64 that this machine supports, from v3 on, or for that of `MBSIM_TARGET_CPU`, the example scenes
are compiled with every method and integrator, and the scenes of the gallery and of `mbsim new` with their own, into an
empty cache.  Their object code is copied to `shipped/`, without bitcode, and from there into the wheel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from multibody_cli.kernel import store
from multibody_cli.kernel.target import cpu, levels

PACKAGE = Path(__file__).parents[1]


def main(destination: Path) -> None:
    """Compile, copy, and build the wheel into a folder."""
    folders = (PACKAGE.parent / "scenes" / "gallery", PACKAGE / "cli" / "templates")
    scenes = sorted(str(scene) for folder in folders for scene in folder.glob("*.yaml"))
    shutil.rmtree(store.SHIPPED, ignore_errors=True)
    chosen = os.environ.get("MBSIM_TARGET_CPU")
    for level in [chosen] if chosen else levels() or [cpu()]:
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "MBSIM_CACHE_DIR": cache, "MBSIM_TARGET_CPU": level}
            for words in (["--all"], scenes):
                command = [sys.executable, "-m", "multibody_cli", "warm", *words]
                subprocess.run(command, env=environment, check=True)
            gather(Path(cache))
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", str(destination), str(PACKAGE.parent)], check=True
    )


def gather(cache: Path) -> None:
    """Copy the object code of a cache to `shipped/`."""
    for folder in cache.glob("*-llvmlite-*"):
        target = store.SHIPPED / folder.name.partition("-llvmlite-")[0]
        for place in folder.glob("[ekg]*/*"):
            code = store.from_bytes(place.name, place.read_bytes())
            if code is not None:
                store.write(target / place.name[:3] / place.name, store.as_bytes(code))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
