"""What was worked out from a rulesheet → files on disk → the same in a later run.

A cache only saves time: where it cannot be read or written, everything is as if it were empty, and one line of the log
says why. Several processes may share it. Entries are found again only by the same sources of this package and the same
libraries. A file is one entry, in little-endian order:

    magic (8 bytes), CRC-32 of all that follows, 4 zero bytes, size of the file, size of the header, identity (32 bytes)
    header: JSON with the notes and the name, dtype and shape of each array
    the arrays, C-contiguous, each at a multiple of 64 bytes

The checksum finds accidents (a full disk, a lost block), not malice; it is looked at before anything is parsed, and
entries are never unpickled. Kernels are, as numba keeps them. Against other people there are the permissions: the
folders are ours alone, nobody else can put others in their place, and all kernels are files of this user, or nothing is
used.
"""

import ast
import atexit
import errno
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from stat import S_ISLNK, S_ISVTX, S_IWGRP, S_IWOTH
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER_VARIABLE = "GGP_CACHE"
LIMIT_VARIABLE = "GGP_CACHE_LIMIT"
DEFAULT_LIMIT_BYTES = 1 << 30
UNRELATED = frozenset((
    "__main__", "analysis", "batches", "bench", "boards", "commands", "env", "families", "game", "library", "plots",
    "plugins", "protocol", "signals", "trees",
))  # fmt: skip
"""Modules and packages of `ggp` that no kernel and nothing else that is kept depends on; a test looks."""

KERNELS = "kernels"
ENTRIES = "entries"
KNOWLEDGE = "knowledge"  # what `ggp train` has learned of games: of all versions of the sources, without a limit

_LIBRARIES = ("clingo", "llvmlite", "numba", "numpy")
_WARM = "warm"  # a file in the folder of the kernels: all those of the sources that it names are there
_WARMING = "begun"  # a file that is made when a process begins to compile them
_WARMING_SECONDS = 300.0  # for which such a process is believed to be at work
_KERNEL_DAYS = 14
_FEW, _PART = 16, 5_000  # entries of a list: fewer are written one by one, more so many at a time
_KERNEL_VERSIONS = 16  # kept of other versions, however recent
_KERNEL_SUFFIX = ".kernel"
_DAY = 86_400.0

_HEAD = struct.Struct("<8sI4xQQ32s")
_MAGIC = b"ggp\r\n\x1a\x00\x01"
_CHECKSUM = struct.Struct("<I")
_CHECKED_FROM = 12  # the checksum covers the file from here
_ALIGNMENT = 64
_SUFFIX = ".entry"
_UNFINISHED = ".unfinished"
_UNFINISHED_SECONDS = 3_600.0
_KIND = re.compile(r"[a-z][a-z0-9-]*")

_log = logging.getLogger(__name__)


def cache_folder() -> Path | None:
    """$GGP_CACHE, else $XDG_CACHE_HOME/ggp, else ~/.cache/ggp; None when GGP_CACHE is "off" or empty."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen is not None:
        return None if chosen.strip() in ("", "off") else Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "ggp"
    try:
        return Path.home() / ".cache" / "ggp"
    except RuntimeError:  # a user without a home
        return None


@cache
def source_version() -> str:
    """A hexadecimal hash of the sources of package `ggp`, of Python and of the libraries that our results depend on.

    Without `UNRELATED`, so that an edit there leaves the kernels as they are.
    """
    about = [sys.version, sys.platform, *sorted(_installed())]
    digest = hashlib.sha256("\n".join(about).encode(errors="surrogateescape"))
    package = Path(__file__).parent
    for folder, folders, files in os.walk(package):
        folders.sort()
        kept = files
        if Path(folder) == package:
            folders[:], kept = _kept(folders), _kept(files)
        for path in sorted(Path(folder, name) for name in kept if name.endswith(".py")):
            source = path.read_bytes()
            digest.update(f"\n{path.relative_to(package)} {len(source)}\n".encode(errors="surrogateescape"))
            digest.update(source)
    return digest.hexdigest()[:32]


def _kept(names: list[str]) -> list[str]:
    return [name for name in names if name.removesuffix(".py") not in UNRELATED]


def _installed() -> set[str]:
    """Names of the folders such as numpy-2.4.0.dist-info; importlib.metadata knows the same, in 30 ms instead of 1."""
    found: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):
            found.update(name for name in os.listdir(folder or ".") if name.endswith("-info"))  # noqa: PTH208
    return {name for name in found if name.partition("-")[0] in _LIBRARIES}


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """Arrays of any dtype without objects, and notes that JSON can hold; arrays that were read back are read-only."""

    arrays: "dict[str, NDArray[Any]]" = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a kind is kept."""

    files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Cache:
    """Entries by kind and key; those not used for the longest time go when all together exceed the limit."""

    folder: Path | None  # None: nothing is kept
    limit_bytes: int = DEFAULT_LIMIT_BYTES
    version: str = field(default_factory=source_version)

    def get(self, kind: str, key: str) -> CacheEntry | None:
        """The entry, or None; a damaged or foreign file in its place is removed."""
        identity = self._identity(kind, key)
        if self.folder is None:
            return None
        path = self._path(self.folder, kind, identity)
        try:
            _check_private(path.parent)
            data = _read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn(f"the cache {self.folder} cannot be read: {error.strerror or error}")
            return None
        entry = _unpack(data, identity)
        with suppress(OSError):
            if entry is None:
                _log.warning("a damaged entry of the cache is removed: %s", path)
                path.unlink()
            else:
                _touch(path)
        return entry

    def put(self, kind: str, key: str, entry: CacheEntry) -> None:
        """Keeps the entry for later runs, if that can be; TypeError or ValueError for what no file can hold."""
        identity = self._identity(kind, key)
        if self.folder is None:
            return
        parts = _pack(entry, identity)
        if sum(map(len, parts)) > self.limit_bytes:
            return
        path = self._path(self.folder, kind, identity)
        try:
            _make_private(self.folder, ENTRIES)
            _write(path, parts)
            self._evict(path)
        except OSError as error:
            _warn(f"the cache {self.folder} cannot be written: {error.strerror or error}")

    def clear(self) -> int:
        """Removes all entries and kernels, those of other versions too; the number of files that are gone."""
        if self.folder is None:
            return 0
        before = sum(usage.files for usage in self.usage().values())
        for kind in (ENTRIES, KNOWLEDGE):
            for path, _ in _files(self.folder / kind):
                with suppress(OSError):
                    path.unlink()
        shutil.rmtree(self.folder / KERNELS, ignore_errors=True)
        return before - sum(usage.files for usage in self.usage().values())

    def usage(self) -> dict[str, Usage]:
        """What is kept of each kind, of all versions together; `kernels` are compiled functions."""
        found: dict[str, list[int]] = {}
        if self.folder is not None:
            for path, status in _files(self.folder / ENTRIES):
                found.setdefault(path.name.rpartition("-")[0] or "unfinished", []).append(status.st_size)
            found[KNOWLEDGE] = [status.st_size for _, status in _files(self.folder / KNOWLEDGE)]
            for folder, _, _ in os.walk(self.folder / KERNELS):
                found.setdefault(KERNELS, []).extend(status.st_size for _, status in _files(Path(folder)))
        return {kind: Usage(len(sizes), sum(sizes)) for kind, sizes in sorted(found.items()) if sizes}

    def _identity(self, kind: str, key: str) -> bytes:
        if not _KIND.fullmatch(kind) or kind in (KERNELS, KNOWLEDGE):
            raise ValueError(f"{kind!r} cannot name a kind of entries")
        return hashlib.sha256(json.dumps([self.version, kind, key]).encode()).digest()

    @staticmethod
    def _path(folder: Path, kind: str, identity: bytes) -> Path:
        return folder / ENTRIES / f"{kind}-{identity.hex()}{_SUFFIX}"

    def _evict(self, newest: Path) -> None:
        """Removes the least recently used entries until the rest fits."""
        found = sorted(_files(newest.parent), key=lambda item: item[1].st_mtime_ns)
        excess = sum(status.st_size for _, status in found) - self.limit_bytes
        for path, status in found:
            if excess > 0 and path.suffix == _SUFFIX and path != newest:
                path.unlink(missing_ok=True)
                excess -= status.st_size


def default_cache() -> Cache:
    """The cache of this user, as the environment sets it: GGP_CACHE (a folder or "off"), GGP_CACHE_LIMIT (bytes)."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if text and not (text.isascii() and text.isdigit()):
        _warn(f"{LIMIT_VARIABLE} must be a number of bytes, not {text!r}; it is taken as {DEFAULT_LIMIT_BYTES}")
        text = ""
    return Cache(cache_folder(), int(text) if text else DEFAULT_LIMIT_BYTES)


def knowledge_folder() -> Path | None:
    """An existing folder of this user's cache for what was learned of games; None where there is no cache.

    OSError where it cannot be made, or is not ours alone.
    """
    root = cache_folder()
    return None if root is None else _make_private(root, KNOWLEDGE)


def read_entry(path: Path, identity: bytes) -> CacheEntry | None:
    """What `write_entry` wrote with the same 32 bytes; None for a file that is damaged or foreign; OSError."""
    return _unpack(_read(path), identity)


def write_entry(path: Path, entry: CacheEntry, identity: bytes) -> None:
    """Whole or not at all, with the umask's mode; OSError, and TypeError or ValueError for what no file can hold."""
    _write(path, _pack(entry, identity), 0o666)


def kernel_folder() -> Path:
    """An existing folder for kernels compiled with these libraries and this bounds-check flag, or a temporary one.

    Removes the folders of other libraries that were not used for two weeks. OSError when there is no temporary folder.
    """
    root = cache_folder()
    if root is None:
        return _temporary_folder()
    checked = os.environ.get("NUMBA_BOUNDSCHECK", "").strip() not in ("", "0")
    try:
        folder = _make_private(root, KERNELS, _kernel_version() + ("-boundscheck" if checked else ""))
        folder.chmod(0o700)
        _check_owner(folder)
        tempfile.TemporaryFile(dir=folder).close()  # only this shows a read-only file system
        _touch(folder)
    except OSError as error:
        _warn(f"compiled kernels are not kept in {root}: {error.strerror or error}")
        return _temporary_folder()
    _drop_old(path for path in folder.parent.iterdir() if path != folder)
    return folder


@cache
def _kernel_version() -> str:
    """A hexadecimal hash of what all kernels depend on: Python, the libraries, and how they are compiled."""
    generators = (
        Path(__file__).with_name(f"{name}.py").read_text("utf-8")
        for name in ("kernel", "kernel_compiler", "transposition", "row_sums")
    )
    about = [sys.version, sys.platform, *sorted(_installed()), *generators]
    return hashlib.sha256("\n".join(about).encode(errors="surrogateescape")).hexdigest()[:32]


def read_kernel(folder: Path, name: str, digest: str) -> bytes | None:
    """Machine code of a kernel, or None; a damaged file in its place is removed."""
    path = folder / f"{name}-{digest}{_KERNEL_SUFFIX}"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    code = data[_CHECKSUM.size :]
    is_damaged = len(data) < _CHECKSUM.size or _CHECKSUM.unpack_from(data)[0] != zlib.crc32(code)
    with suppress(OSError):
        if is_damaged:
            _log.warning("a damaged kernel is removed: %s", path)
            path.unlink()
        else:
            _touch(path)
    return None if is_damaged else code


def keep_kernel(folder: Path, name: str, digest: str, code: bytes) -> None:
    """Keeps it for later processes, if that can be, and removes others of that name that were long not used."""
    path = folder / f"{name}-{digest}{_KERNEL_SUFFIX}"
    try:
        _write(path, [_CHECKSUM.pack(zlib.crc32(code)), code])
    except OSError as error:
        _warn(f"compiled kernels are not kept in {folder}: {error.strerror or error}")
    _drop_old(each for each in folder.glob(f"{name}-*{_KERNEL_SUFFIX}") if each != path)


def _drop_old(paths: Iterable[Path]) -> None:
    """Removes the files and folders that were long not used, or are too many."""
    with suppress(OSError):
        ages = [(path.stat().st_mtime, path) for path in paths]
        for rank, (used_at, path) in enumerate(sorted(ages, reverse=True)):
            if rank >= _KERNEL_VERSIONS or time.time() - used_at > _KERNEL_DAYS * _DAY:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def is_warm() -> bool:
    """Whether all kernels of these sources were compiled before; on a cold machine that takes half a minute."""
    return (kernel_folder() / f"{_WARM}-{source_version()}").exists()


def mark_warm() -> None:
    """Notes that all kernels of these sources are on disk."""
    folder = kernel_folder()
    (folder / f"{_WARM}-{source_version()}").touch()
    _drop_old(folder.glob(f"{_WARM}-*"))


def warm_in_background() -> None:
    """Starts a process that compiles all kernels, which ends with this one at the latest; nothing where one is at work.

    Kernels that are done by then are kept.
    """
    begun = kernel_folder() / _WARMING
    try:
        begun.open("x").close()
    except FileExistsError:
        with suppress(FileNotFoundError):  # they are done by now
            if time.time() - begun.stat().st_mtime < _WARMING_SECONDS:
                return
        begun.touch()
    except OSError:
        return
    lifeline, _ = os.pipe()  # the other end is closed when this process ends
    command = 'exec 3<&0; "$0" -P -m ggp.commands.cache <&3 3<&- >/dev/null 2>&1 &'
    try:
        subprocess.run(["/bin/sh", "-c", command, sys.executable], stdin=lifeline, check=False)  # noqa: S603 - ours
    finally:
        os.close(lifeline)


def end_warming() -> None:
    """Notes that the process that compiles the kernels is at its end."""
    with suppress(OSError):
        (kernel_folder() / _WARMING).unlink(missing_ok=True)


@cache
def _temporary_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="ggp-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _warn(message: str) -> None:
    """Says a thing once in this process."""
    _log.warning(message)


def _make_private(root: Path, *names: str) -> Path:
    """Makes the folder under the root, each part for us alone; PermissionError when it is not.

    Unfinished files of writers that died are removed from it.
    """
    folder = root
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in names:
        folder /= name
        folder.mkdir(mode=0o700, exist_ok=True)
    _check_private(folder)
    for path in folder.glob(f"*{_UNFINISHED}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNFINISHED_SECONDS:
                path.unlink()
    return folder


def _check_private(folder: Path) -> None:
    """PermissionError when someone else could have put files there, or another folder in its place.

    That is: the folder is ours, all above it are ours or root's, and nobody else can write to them, except to folders
    such as /tmp where people cannot touch what is not theirs.
    """
    status = folder.stat()
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, f"{folder} is not ours alone")
    for above in {*folder.absolute().parents, *folder.resolve().parents}:
        for part in (above.lstat(), above.stat()):
            is_open = part.st_mode & S_IWOTH or (part.st_mode & S_IWGRP and not _is_own_group(part.st_gid))
            if S_ISLNK(part.st_mode):
                is_open = 0
            if part.st_uid not in (os.geteuid(), 0) or (is_open and not part.st_mode & S_ISVTX):
                raise PermissionError(errno.EPERM, f"others can write to {above}")


def _is_own_group(group: int) -> bool:
    """Whether it is root's, or the private group of this user, as many systems give one to each."""
    import grp  # noqa: PLC0415 - here and below: there is none on Windows
    import pwd  # noqa: PLC0415

    try:
        found, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group == 0 or (
        group == user.pw_gid and found.gr_name == user.pw_name and not {*found.gr_mem} - {user.pw_name}
    )


def _check_owner(folder: Path) -> None:
    """PermissionError where a file below the folder belongs to someone else."""
    if os.name != "posix":
        return
    for inner, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(FileNotFoundError):
                if os.lstat(path := Path(inner, name)).st_uid != os.geteuid():
                    raise PermissionError(errno.EPERM, f"{path} belongs to someone else")


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files in a folder; those that vanish meanwhile are left out."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path), entry.stat(follow_symlinks=False)


def _touch(path: Path) -> None:
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _read(path: Path) -> bytes:
    """The bytes of the file; of one that is not as long as its head says, the head only."""
    with path.open("rb", buffering=0) as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or _HEAD.unpack(head)[2] != os.fstat(file.fileno()).st_size:
            return head
        file.seek(0)
        return file.readall()


def _write(path: Path, parts: list[bytes], mode: int = 0o600) -> None:
    """Puts the file in its place in one step: readers see all of it, or what was there before."""
    unfinished = path.with_name(secrets.token_hex(8) + _UNFINISHED)
    try:
        with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.writelines(parts)
        _touch(unfinished)
        unfinished.replace(path)
    except OSError as error:  # of a full disk: it names no file, and others the unfinished one
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _pack(entry: CacheEntry, identity: bytes) -> list[bytes]:
    """The file of an entry, in pieces."""
    from numpy import asarray  # noqa: PLC0415 - here and below: importing this module does not load numpy
    from numpy.lib.format import dtype_to_descr  # noqa: PLC0415

    table: list[tuple[str, str, list[int]]] = []
    blocks: list[bytes] = []
    for name, array in entry.arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects")
        table.append((name, repr(dtype_to_descr(array.dtype)), list(array.shape)))
        data = asarray(array, order="C").tobytes()
        blocks += [data, bytes(-len(data) % _ALIGNMENT)]
    header = _to_json({"notes": entry.notes, "arrays": table}).encode()
    blocks = [header, bytes(-len(header) % _ALIGNMENT), *blocks]
    size = _HEAD.size + sum(map(len, blocks))
    checksum = zlib.crc32(_HEAD.pack(_MAGIC, 0, size, len(header), identity)[_CHECKED_FROM:])
    for block in blocks:
        checksum = zlib.crc32(block, checksum)
    return [_HEAD.pack(_MAGIC, checksum, size, len(header), identity), *blocks]


def _to_json(value: object) -> str:
    """As `json.dumps`, but long lists in parts: each call holds the GIL, and a player has to answer in time."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {_to_json(part)}' for key, part in value.items())}}}"
    if not isinstance(value, list | tuple):
        return json.dumps(value)
    if len(value) < _FEW:
        return f"[{', '.join(map(_to_json, value))}]"
    parts = (json.dumps(value[start : start + _PART]) for start in range(0, len(value), _PART))
    return f"[{', '.join(part[1:-1] for part in parts)}]"


def _unpack(data: bytes, identity: bytes) -> CacheEntry | None:
    """The entry in the bytes of a file; None when they are damaged, or are not what they should be."""
    from numpy import ndarray  # noqa: PLC0415
    from numpy.lib.format import descr_to_dtype  # noqa: PLC0415

    if len(data) <= _HEAD.size:
        return None
    magic, checksum, _, header_size, owner = _HEAD.unpack_from(data)
    if magic != _MAGIC or owner != identity or checksum != zlib.crc32(memoryview(data)[_CHECKED_FROM:]):
        return None
    try:
        header = json.loads(data[_HEAD.size : _HEAD.size + header_size])
        arrays: dict[str, NDArray[Any]] = {}
        offset = _aligned(_HEAD.size + header_size)
        for name, description, shape in header["arrays"]:
            dtype = descr_to_dtype(ast.literal_eval(description))
            if dtype.hasobject:
                return None
            array = ndarray(shape, dtype, data, offset)
            arrays[name] = array
            offset = _aligned(offset + array.nbytes)
        return CacheEntry(arrays, header["notes"])
    except (LookupError, SyntaxError, TypeError, ValueError):
        return None  # sound, but not written by this code


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
