"""Mutexes and conditions of POSIX threads, in compiled code.

A *monitor* protects data of several threads by a mutex: a thread that holds it may `wait` for a condition, which
releases the mutex until another thread calls `wake_all`.  A wait may end without a cause: test the condition again.

Plain Python interprets kernels in one thread, where these functions do nothing.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel.functions import instructions

BYTES = 128
"""Size of the memory of a mutex or a condition, at least that of every supported system."""


def new_mutex() -> NDArray[np.uint8]:
    """Allocate a mutex."""
    return _initialized("pthread_mutex_init")


def new_condition() -> NDArray[np.uint8]:
    """Allocate a condition."""
    return _initialized("pthread_cond_init")


def _initialized(name: str) -> NDArray[np.uint8]:
    memory = np.zeros(BYTES, np.uint8)
    getattr(ctypes.CDLL(None), name)(ctypes.c_void_p(memory.ctypes.data), None)
    return memory


def _write_call(context: Any, builder: Any, types: Any, args: Any, name: str) -> None:
    """Write the call of a function of the system with the addresses of arrays."""
    from llvmlite import ir

    address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(number, [address] * len(args))
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    arrays = (context.make_array(one)(context, builder, arg).data for one, arg in zip(types, args, strict=True))
    builder.call(function, [builder.bitcast(data, address) for data in arrays])


def _write_lock(context: Any, builder: Any, types: Any, args: Any) -> None:
    _write_call(context, builder, types, args, "pthread_mutex_lock")


def _write_unlock(context: Any, builder: Any, types: Any, args: Any) -> None:
    _write_call(context, builder, types, args, "pthread_mutex_unlock")


def _write_wait(context: Any, builder: Any, types: Any, args: Any) -> None:
    _write_call(context, builder, types, args, "pthread_cond_wait")


def _write_wake_all(context: Any, builder: Any, types: Any, args: Any) -> None:
    _write_call(context, builder, types, args, "pthread_cond_broadcast")


@instructions(_write_lock)
def lock(mutex: Any) -> None:
    """Acquire a mutex."""


@instructions(_write_unlock)
def unlock(mutex: Any) -> None:
    """Release a mutex."""


@instructions(_write_wait)
def wait(condition: Any, mutex: Any) -> None:
    """Release a mutex, wait for a condition, and acquire the mutex again."""


@instructions(_write_wake_all)
def wake_all(condition: Any) -> None:
    """Wake all threads that wait for a condition."""
