"""Store of compiled code: one file for each kernel or formula, named by its digest.

A file contains a header, a digest of the rest, a line of JSON and the code.  It is written under a temporary name and
renamed, so that no process reads a partial file, and it is verified when it is read: a truncated, replaced or foreign
file counts as missing, with one warning.  If the folder is not writable, code is kept in memory.

The digest protects from damage, not from other users: a file is read only if it belongs to the user, to root, or to the
owner of this package, and if nobody else may write to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import stat
import time
import warnings
import zlib
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from multibody_cli.immutable import Immutable, asdict
from multibody_cli.kernel.ownership import OWNERS, is_trusted, own_folder, read_trusted
from multibody_cli.kernel.target import architecture

MAGIC = b"mbsim code 2\n"
LOCK_SECONDS = 120.0
"""Time (s) for which a process waits for another one that compiles the same code; a longer wait indicates a hang."""


class Code(Immutable):
    """Compiled code.

    Parameters
    ----------
    symbol
        Its name: a letter for its type and a digest.
    code
        Object code of a kernel; LLVM bitcode of a formula.
    calls, recipes
        Symbols of the kernels that it calls, and their base64-encoded recipes (`as_recipe`), with which any process can
        compile them.
    lazy
        Those of `calls` that are loaded when they are first called.
    inlines
        Symbols of the formulas that must be linked into the bitcode.
    externals
        C functions that it calls.
    result
        Description of the result of an entry point; the pickled type of any other result.
    title
        Title for display: module and name of the function.
    """

    symbol: str
    code: bytes
    calls: tuple[str, ...] = ()
    recipes: tuple[str, ...] = ()
    lazy: tuple[str, ...] = ()
    inlines: tuple[str, ...] = ()
    externals: tuple[str, ...] = ()
    result: str = ""
    title: str = ""


def as_recipe(*words: Any) -> bytes:
    """Pickle a compilation task.

    Raises
    ------
    pickle.PicklingError
        If a function has no name by which another process can import it.
    """
    return zlib.compress(pickle.dumps(words, protocol=4))


@cache
def compiler_digest() -> str:
    """Return the digest of the source of the compiler, which affects all code."""
    own = Path(__file__).parent
    names = ("arguments.py", "functions.py", "kernels.py", "linking.py", "operators.py", "optimizing.py", "target.py")
    places = [own / name for name in names] + sorted((own / "compiler").glob("*.py"))
    return sha256(b"".join(place.read_bytes() for place in places)).hexdigest()


def cache_root() -> Path:
    """Return the folder of compiled code: `MBSIM_CACHE_DIR`, else the user's cache folder, else a temporary one."""
    chosen = os.environ.get("MBSIM_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    return own_folder(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


@cache
def _toolchain() -> str:
    """Return an identifier of the target and the versions of the compiler."""
    import llvmlite

    found = find_spec("numba")  # its version, without importing it
    version = Path(found.origin).with_name("_version.py") if found and found.origin else None
    digest = sha256(version.read_bytes()).hexdigest()[:8] if version and version.exists() else "none"
    return f"{architecture()}-llvmlite-{llvmlite.__version__}-numba-{digest}"


def folder() -> Path:
    """Return the folder of the code for this target and compiler."""
    return cache_root() / _toolchain()


SHIPPED = Path(__file__).parent / "shipped"
"""Folder of the code in a wheel, by target."""

_memory: dict[str, Code] = {}
_warned: set[str] = set()


def path_of(symbol: str) -> Path:
    """Return the file of a symbol."""
    return folder() / symbol[:3] / symbol


def as_bytes(code: Code) -> bytes:
    """Return the content of a file."""
    words = asdict(code)
    del words["code"]
    body = json.dumps(words, sort_keys=True).encode() + b"\n" + code.code
    return MAGIC + sha256(body).hexdigest().encode() + b"\n" + body


def from_bytes(symbol: str, data: bytes) -> Code | None:
    """Read the content of a file; None if it is damaged, or belongs to another symbol."""
    if not data.startswith(MAGIC):
        return None
    digest, _, body = data[len(MAGIC) :].partition(b"\n")
    if sha256(body).hexdigest().encode() != digest:
        return None
    head, _, code = body.partition(b"\n")
    try:
        words: dict[str, Any] = json.loads(head)
        if words.pop("symbol") != symbol:
            return None
        for key in ("calls", "recipes", "lazy", "inlines", "externals"):
            words[key] = tuple(words[key])
        return Code(symbol, code, **words)
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def find(symbol: str) -> Code | None:
    """Return the code of a symbol; None if it is not compiled."""
    if symbol in _memory:
        return _memory[symbol]
    for place in (*(files / symbol[:3] / symbol for files in _shipped_folders()), path_of(symbol)):
        try:
            data = read_trusted(place)
        except OSError:
            continue
        code = from_bytes(symbol, data) if data is not None else None
        if code is not None:
            _touch(place)
            return code
        why = f"is of another user, or others may write to it ({OWNERS})" if data is None else "is damaged"
        _warn("damage", f"{place}: compiled code {why}; it is compiled again")
        with contextlib.suppress(OSError):
            place.unlink()
    return None


@cache
def _shipped_folders() -> tuple[Path, ...]:
    """Return the folder of compiled code for this target in the package, if there is one."""
    found = SHIPPED / architecture()
    return (found,) if found.is_dir() else ()


def shipped() -> list[Path]:
    """Return the files of compiled code for this target in the package."""
    return [place for files in _shipped_folders() for place in files.glob("*/*") if place.is_file()]


def _touch(place: Path) -> None:
    """Update the day of the last use, for `remove_old`."""
    with contextlib.suppress(OSError):
        if time.time() - place.stat().st_mtime > 86400.0:
            os.utime(place)


def keep(code: Code) -> bool:
    """Store code for all processes; return False if only the memory of this process could hold it."""
    if write(path_of(code.symbol), as_bytes(code)):
        return True
    _memory[code.symbol] = code
    return False


def keep_here(code: Code) -> None:
    """Store code in the memory of this process only."""
    _memory[code.symbol] = code


trouble: list[str] = []
"""Reasons why code could not be written."""


def keep_in_memory(code: Code, reason: str) -> None:
    """Store code that a worker could not write in the memory of this process."""
    _warn_of_memory(reason)
    _memory[code.symbol] = code


def write(place: Path, data: bytes) -> bool:
    """Write a file atomically; return False, with one warning, if this fails."""
    import tempfile

    part = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".", suffix=".part", delete=False) as part:
            part.write(data)
        os.chmod(part.name, 0o644 & ~_umask())
        if not is_trusted(os.stat(part.name)):
            raise OSError(0, "the file system does not keep owners and permissions of files")
        os.replace(part.name, place)
    except OSError as error:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part.name)
        _warn_of_memory(error.strerror or str(error))
        return False
    return True


@cache
def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class CacheWarning(RuntimeWarning):
    """A cache of compiled code that is damaged or not writable; results are not affected."""


def _warn_of_memory(reason: str) -> None:
    trouble.append(reason)
    _warn("write", f"{cache_root()}: compiled code cannot be kept ({reason}); each process compiles it again")


def _warn(sort: str, text: str) -> None:
    """Warn once per process for each type of problem."""
    if sort not in _warned:
        _warned.add(sort)
        warnings.warn(text, CacheWarning, stacklevel=2)


@contextlib.contextmanager
def lock(symbol: str) -> Iterator[None]:
    """Let one process at a time compile a symbol; other processes wait for a limited time.

    The operating system releases the lock when its process ends.  Without support for locks, two processes may compile
    the same code, and the later file replaces the earlier one.
    """
    try:
        import fcntl

        place = folder() / "locks" / symbol
        place.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        file = open(os.open(place, flags, 0o600), "r+b", buffering=0)  # noqa: SIM115
    except (ImportError, OSError):
        yield
        return
    with file:
        until, pause = time.monotonic() + LOCK_SECONDS, 0.001
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(pause)
                pause = min(2.0 * pause, 0.05)
            except OSError:
                break
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                place.unlink()


# --- content of the cache -------------------------------------------------------------------------------------------
MAX_BYTES = 1_000_000_000
"""Size of the cache above which the least recently used code is removed."""

MAX_SECONDS = 90 * 86400.0
"""Time without use after which code is removed; the time of use is updated once a day."""


def inventory() -> list[tuple[Path, int, float]]:
    """Return file, size in bytes and time of last use of all code in the cache, for all targets and compilers."""
    found = []
    for folder, _, names in os.walk(cache_root()):
        if "-llvmlite-" in Path(folder).parent.name:
            for place in (Path(folder, name) for name in names):
                with contextlib.suppress(OSError):  # another process may remove it
                    status = place.lstat()
                    is_held = place.parent.name == "locks" and time.time() - status.st_mtime <= LOCK_SECONDS
                    if stat.S_ISREG(status.st_mode) and not is_held:
                        found.append((place, status.st_size, status.st_mtime))
    return found


@cache
def tidy() -> None:
    """Remove old code, once per process."""
    remove_old()


def remove_old(max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS) -> tuple[int, str]:
    """Remove the least recently used code.

    Parameters
    ----------
    max_bytes
        Size of the cache above which code is removed.
    max_seconds
        Time without use after which code is removed.

    Returns
    -------
    int, str
        Number of removed files, and the reason why a file could not be removed; empty if there was no failure.
    """
    now, left, removed, reason = time.time(), 0, 0, ""
    for place, size, used in sorted(inventory(), key=lambda one: -one[2]):
        left += size
        if left > max_bytes or now - used > max_seconds:
            try:
                place.unlink()
                removed += 1
            except FileNotFoundError:
                pass
            except OSError as error:
                reason = f"{place}: {error.strerror}"
    return removed, reason
