"""Version of the program and the commit of its source; results and reports contain them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

__version__ = "0.1.0"

_PACKAGE = Path(__file__).parent


@cache
def commit() -> str:
    """Return the first digits of the commit of the source; empty if it is not known.

    In a checkout it is that of git, with a `+` if the code differs from the commit; in a wheel or an sdist, that of the
    checkout that it was built from, in the file `commit`.
    """
    if not (_PACKAGE.parent / ".git").exists():  # git would search the folders above
        recorded = _PACKAGE / "commit"
        return recorded.read_text("utf-8") if recorded.exists() else ""
    digits = _git("rev-parse", "--short=12", "HEAD")
    return digits and digits + "+" * bool(_git("status", "--porcelain", "-uno", _PACKAGE.name))


def described(version: str, commit: str) -> str:
    """Return a version with its commit, if that is known."""
    return f"{version} (commit {commit})" if commit else version


def full_version() -> str:
    """Return the version of this program with its commit."""
    return described(__version__, commit())


def _git(*words: str) -> str:
    """Return the output of git about the checkout; empty if it fails."""
    import subprocess

    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # as of a hook
    try:
        command = ["git", "-C", str(_PACKAGE.parent), *words]
        return subprocess.run(command, env=own, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
