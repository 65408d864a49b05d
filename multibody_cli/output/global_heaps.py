"""Check of the global heaps of an HDF5 file of unknown origin, before the file is read.

A global heap collection holds texts of variable length as a chain of objects, each with its size (HDF5 File Format
Specification 3.0, section III.E).  The HDF5 library loads a collection by following this chain, and never returns from
an object that has no size.
"""

from __future__ import annotations

import io
import os
from functools import lru_cache
from pathlib import Path

import h5py

from multibody_cli.output.hdf5_checks import Defect

SIGNATURE = b"GCOL\x01"
"""Signature and version at the start of a collection."""

_HEADER = 16
"""Size of the header of a collection, and of an object, bytes: both end with the size, 8 bytes."""

_PIECE = 2**24
"""Bytes of the file that are searched together."""

_OWN_SIZES = (8, 8)
"""Sizes of addresses and of lengths in the files of this program, bytes."""


def open_checked(path: Path) -> h5py.File:
    """Open an HDF5 file for reading.

    The whole file is searched for collections, 0.5 s for each gigabyte: it can place them anywhere.  This takes 0.6 ms
    for the file of a short run; a process with limits of time and memory that opens it first would take 100 ms.

    Raises
    ------
    Defect
        A global heap collection is damaged, or the file has other sizes of addresses and lengths than those of this
        program.
    OSError
        The file cannot be read, or is not an HDF5 file.
    """
    status = path.stat()
    _require_sound_heaps(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
    file = h5py.File(path, "r")
    if file.id.get_create_plist().get_sizes() != _OWN_SIZES:
        file.close()
        raise Defect("superblock", "expected addresses and lengths of 8 bytes")
    return file


@lru_cache(maxsize=16)
def _require_sound_heaps(path: Path, _identity: tuple[int, ...]) -> None:
    with path.open("rb", buffering=0) as file:
        size, first = os.fstat(file.fileno()).st_size, 0
        while (first := _next_data(file, first, size)) < size:
            piece = _read(file, first, _PIECE + len(SIGNATURE) - 1)  # a signature may end in the next piece
            offset = piece.find(SIGNATURE)
            while offset >= 0:
                _require_sound_collection(file, first + offset, size)
                offset = piece.find(SIGNATURE, offset + 1)
            first += _PIECE


def _next_data(file: io.FileIO, first: int, size: int) -> int:
    """Return the offset of the next stored byte: a file of a few bytes may have holes of terabytes."""
    if not hasattr(os, "SEEK_DATA"):
        return first
    try:
        return file.seek(first, os.SEEK_DATA)
    except OSError:  # nothing is stored from there on
        return size


def _read(file: io.FileIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)


def _require_sound_collection(file: io.FileIO, start: int, file_size: int) -> None:
    """Follow the chain of the objects of a collection that starts at an offset of the file."""
    size = int.from_bytes(_read(file, start + 8, 8), "little")
    if start + size > file_size:
        return  # the library refuses it, and other data may contain the signature by chance
    offset = _HEADER
    while offset + _HEADER <= size:
        header = _read(file, start + offset, _HEADER)
        number, length = int.from_bytes(header[:2], "little"), int.from_bytes(header[8:], "little")
        whole = _HEADER + (length + 7) // 8 * 8 if number else length  # object 0 is the free space, with its header
        if not 0 < whole <= size - offset:
            raise Defect(f"byte {start + offset}", "a global heap holds an object without a valid size")
        offset += whole
