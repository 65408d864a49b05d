"""Files and folders of the user alone: compiled code is not read from files that another user could have written."""

from __future__ import annotations

import contextlib
import getpass
import os
import stat
from functools import cache
from pathlib import Path

OWNERS = "code is read from files of this user, of root and of the owner of the package"


@cache
def own_folder(parent: str) -> Path:
    """Return the cache folder in a folder of the user, or a temporary one if the user cannot have it alone."""
    found = Path(parent) / "mbsim"
    with contextlib.suppress(OSError):
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _belongs_to_user(found.resolve()) and os.access(found, os.W_OK):
            return found
    import tempfile

    start = f"mbsim-{getattr(os, 'getuid', getpass.getuser)()}-"
    earlier = sorted(Path(tempfile.gettempdir()).glob(f"{start}*"))
    return next((one for one in earlier if _belongs_to_user(one)), None) or Path(tempfile.mkdtemp(prefix=start))


def _belongs_to_user(place: Path) -> bool:
    """Whether a path is a folder of the user, no link; if others may write to it, this permission is removed."""
    with contextlib.suppress(OSError):
        status = place.lstat()
        if stat.S_ISDIR(status.st_mode) and getattr(os, "getuid", lambda: status.st_uid)() == status.st_uid:
            if status.st_mode & 0o022 and os.name == "posix":
                place.chmod(stat.S_IMODE(status.st_mode) & ~0o022)
            return True
    return False


@cache
def trusted_owners() -> frozenset[int]:
    """Return the users whose files are read: this one, root, and the owner of this package, whose code runs anyway."""
    return frozenset({os.getuid(), 0, Path(__file__).stat().st_uid})


def is_trusted(status: os.stat_result) -> bool:
    """Whether a file is one that no user writes except those whose files are read."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in trusted_owners() and not status.st_mode & 0o022


def read_trusted(place: Path) -> bytes | None:
    """Read a file; None if another user could have written it.

    Raises
    ------
    OSError
        There is no such file, or something else has its name.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(place, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a file")
        return file.read() if is_trusted(status) else None
