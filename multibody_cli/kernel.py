"""The one way numba is used here.

A *kernel* is a plain function of arrays and numbers, compiled on first use; a *formula* is a small function of
values that always dissolves into the kernel that calls it.  Both also run as plain Python when
`NUMBA_DISABLE_JIT=1`; compiled, a formula can be called from kernels alone: it has no entry of its own, and
Python crashes where it tries.

Compiled code is kept between runs in a folder named after a fingerprint of this package's sources and of
numba's version: numba alone does not notice that a callee in another file has changed.

Rules for kernels: no allocation in anything called once a step; read-only blocks first, then state, then work,
outputs last; a kernel writes only its state, work and outputs; NaN and infinity keep their meaning.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite.binding import Linkage, parse_bitcode
from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.registry import CPUDispatcher

WITHOUT_KERNELS = frozenset(
    {
        "cli",
        "pictures",
        "studies",
        "peers",
        "comparison",
        "timeline.py",
        "output",
        "scene",
        "spec",
        "expressions",
        "errors.py",
    }
)
"""Rooms in which no kernel may stand (a test sees to it): changing them leaves compiled code as it is."""

ARITHMETIC: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "fastmath": {"contract", "nsz", "arcp"}}


def cache_root() -> Path:
    """Folder of all compiled kernels: `MBSIM_CACHE_DIR`, else the user's cache folder, else a temporary one."""
    chosen = os.environ.get("MBSIM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"
    try:
        user.mkdir(parents=True, exist_ok=True)
        if os.access(user, os.W_OK):
            return user
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"mbsim-{getattr(os, 'getuid', getpass.getuser)()}"


def source_fingerprint() -> str:
    """Digest of every source file that kernels can depend on, and of numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in WITHOUT_KERNELS:
            digest.update(place.as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kernels_are_compiled(name: str = "*") -> bool:
    """Whether an earlier run of this very version has left a compiled kernel of that name behind.

    `name` is a pattern: the module, the owner of a `bound_kernel` and the function, joined by dots.
    """
    folder = Path(numba.config.CACHE_DIR)
    return bool(numba.config.DISABLE_JIT) or any(folder.rglob(f"{name}.nbi"))


numba.config.CACHE_DIR = str(cache_root() / source_fingerprint())


class OwnCode(JITCodeLibrary):  # type: ignore[misc]
    """Compiled code that calls no copies of functions but its own.

    A compiled function holds copies of the functions that it calls and that were not dissolved in it, each optimized
    anew where it stands, so that they round in different ways.  To numba all copies of a function are one, and the one
    that a process meets first serves every caller: where the function was compiled, the function itself; where compiled
    code was found, a copy in whatever was loaded first.  The same run would give other numbers.

    Machine code is made where it is asked for, of a function that Python calls; of all others, which are kept to be
    linked in, it would be a fifth of the time of compiling.
    """

    _copies: frozenset[str] = frozenset()
    _compiled_object: Any
    _made = False
    _shared_module: Any

    def finalize(self) -> None:
        """Link in what is called, optimize all of it, and make it ready to run."""
        own = {function.name for function in _defined(self._final_module)}
        linked = [library._get_module_for_linking() for library in self._linking_libraries]
        self._copies = frozenset(function.name for module in linked for function in _defined(module)) - own
        super().finalize()

    def _finalize_final_module(self) -> None:
        """Hide the copies from other code before it becomes machine code."""
        for function in _defined(self._final_module):
            if function.name in self._copies:
                function.linkage = "internal"
        if self._object_caching_enabled and self._compiled_object is None:  # a kernel, just compiled
            self._verify_declare_only_symbols()
            self._finalized = True
        else:
            self._make()

    def _make(self) -> None:
        """Make the machine code, or load what was found."""
        super()._finalize_final_module()
        self._made = True

    def get_pointer_to_function(self, name: str) -> int:
        """Give the address of a function of this library, 0 if it has none of that name."""
        self._ensure_finalized()
        if not self._made and any(function.name == name for function in _defined(self._final_module)):
            self._make()
        return super().get_pointer_to_function(name)  # type: ignore[no-any-return]

    def serialize_using_object_code(self) -> Any:
        """Keep the machine code, if there is any, and the code for others to link in."""
        self._ensure_finalized()
        if self._made:
            return super().serialize_using_object_code()
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()

    def _get_module_for_linking(self) -> Any:
        """Give the code for others to link in: the same, whether it was compiled just now or found."""
        if self._shared_module is None:
            self._ensure_finalized()
            self._shared_module = parse_bitcode(self._final_module.as_bitcode())
            for function in _defined(self._shared_module):
                if function.linkage == Linkage.external or function.name in self._copies:
                    function.linkage = "linkonce_odr"
        return self._shared_module


def _defined(module: Any) -> list[Any]:
    """Functions of a module that have a body in it."""
    return [function for function in module.functions if not function.is_declaration]


def _tell_environment(codegen: Any, name: str, environment: Any) -> None:
    """Tell a function of its environment, unless it has no machine code that could look there."""
    if codegen._engine.is_symbol_defined(name):
        _tell(codegen, name, environment)


_tell = JITCPUCodegen.set_env
JITCPUCodegen.set_env = _tell_environment
JITCPUCodegen._library_class = OwnCode

FORMULA_OPTIONS: dict[str, Any] = {
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    **ARITHMETIC,
}


class Formula(CPUDispatcher):  # type: ignore[misc]
    """A function of which all constants of a kind share one compiled form.

    Numba compiles a function anew for each constant that it is called with, with all that it calls, and once more for
    the constant that a variable is first set to: half of the time of compiling.
    """

    def get_call_template(self, args: Any, keywords: Any) -> Any:
        """Find the compiled form for the kinds of arguments; numba asks for it where another function calls."""
        return super().get_call_template(
            [types.unliteral(kind) for kind in args],
            {name: types.unliteral(kind) for name, kind in keywords.items()},
        )


class Kernel(Formula):
    """A kernel, which has a way in for Python only once Python calls it.

    Numba gives every function code that takes Python's arguments apart.  For one that takes the work arrays of a method
    this is ten times the code of the function itself, and nearly all kernels are called from kernels alone.
    """

    _entry: Any = None

    def __call__(self, *args: Any) -> Any:
        """Call it from Python, through a twin that is compiled for this."""
        if self._entry is None:
            self._entry = numba.njit(cache=True, **ARITHMETIC)(
                _renamed(self.py_func, f"{self.py_func.__qualname__}.entry", {})
            )
        return self._entry(*args)


def kernel(function: Any) -> Any:
    """Make a kernel of a function."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **ARITHMETIC}
    return _of_class(Kernel, numba.njit(cache=True, **options)(function))


def formula(function: Any) -> Any:
    """Make a formula of a function."""
    return _of_class(Formula, numba.njit(**FORMULA_OPTIONS)(function))


@cache
def in_python(function: Any) -> Any:
    """Give a formula as plain Python, with all that it calls: for values whose components are no numbers of numba."""
    plain = getattr(function, "py_func", function)
    called = {word: plain.__globals__.get(word) for word in plain.__code__.co_names}
    return _renamed(
        plain, plain.__qualname__, {word: in_python(one) for word, one in called.items() if isinstance(one, Formula)}
    )


def _of_class(kind: type, compiled: Any) -> Any:
    """Give a compiled function a class of its own; a plain function stays one."""
    if not numba.config.DISABLE_JIT:
        compiled.__class__ = kind
    return compiled


def _renamed(function: Any, name: str, names: dict[str, Any]) -> Any:
    """Copy a function under a name of its own, under which its code is kept, with other meanings of some names."""
    copy = FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    copy.__qualname__ = name
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    return copy


def records(array: Any) -> Any:
    """Give a structured array as kernels take it.

    Plain when they are compiled, for numba needs four microseconds to recognize each record array it is handed; with
    fields as attributes when they run as plain Python.
    """
    return array.view(np.recarray) if numba.config.DISABLE_JIT else array


def bound_kernel(template: Any, owner: str, **kernels: Any) -> Any:
    """Make a kernel of a function in which some global names stand for kernels that are only known later.

    A closure would say the same, but numba cannot recognize a closure over kernels in its cache, and would compile it
    anew in every process.

    Parameters
    ----------
    template
        A plain function, not yet a kernel.
    owner
        A word that tells this binding from others of the same template: the cached code is named after it.
    kernels
        What its global names stand for.
    """
    return kernel(_renamed(template, f"{owner}.{template.__qualname__}", kernels))
