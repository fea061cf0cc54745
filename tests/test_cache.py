"""The cache on disk: what goes in comes out; whatever happens to the files gives no error and no wrong entry."""

import errno
import json
import logging
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grimp
import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from typer.testing import CliRunner

import ggp.cache
from ggp.cache import (
    UNRELATED,
    Cache,
    CacheEntry,
    Usage,
    cache_folder,
    default_cache,
    keep_kernel,
    kernel_folder,
    read_kernel,
)
from ggp.commands.cache import add_commands

DAY = 86_400.0
ROOT = Path(__file__).parent.parent

dtypes = st.one_of(hnp.scalar_dtypes(), hnp.array_dtypes(), hnp.nested_dtypes())
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
notes = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No test sees the user's cache, nor what an earlier one was warned of."""
    for name in ("GGP_CACHE_LIMIT", "XDG_CACHE_HOME", "NUMBA_BOUNDSCHECK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GGP_CACHE", str(tmp_path / "default"))
    ggp.cache._warn.cache_clear()
    yield
    ggp.cache._warn.cache_clear()


def files(cache: Cache) -> list[Path]:
    assert cache.folder is not None
    return sorted((cache.folder / "entries").iterdir())


def words(*values: int) -> CacheEntry:
    return CacheEntry({"words": np.array(values, np.uint64)}, {"count": len(values)})


def values(entry: CacheEntry | None) -> list[int] | None:
    return None if entry is None else entry.arrays["words"].tolist()


def same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


@settings(max_examples=150)
@given(st.dictionaries(st.text(st.characters()), arrays, max_size=3), st.dictionaries(st.text(), notes, max_size=3))
def test_what_is_put_is_got_back(given_arrays: dict[str, NDArray[Any]], given_notes: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        cache.put("circuit", "k", CacheEntry(given_arrays, given_notes))
        found = cache.get("circuit", "k")
    assert found is not None
    assert found.notes == given_notes
    assert list(found.arrays) == list(given_arrays)
    for name, array in given_arrays.items():
        assert same(found.arrays[name], array)


def test_long_lists_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any length, at any depth, and in the words of `json`."""
    monkeypatch.setattr(ggp.cache, "_PART", 7)
    notes = {"moves": [[["mark", str(move), {"é": [None, 1.5]}] for move in range(count)] for count in range(30)]}
    cache = Cache(tmp_path)
    cache.put("circuit", "k", CacheEntry(notes=notes))
    entry = cache.get("circuit", "k")
    assert entry is not None
    assert entry.notes == notes
    (path,) = files(cache)
    assert json.dumps({"notes": notes, "arrays": []}).encode() in path.read_bytes()


def test_arrays_that_are_read_back_cannot_be_written(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "k", CacheEntry({"turned": np.arange(6, dtype=np.int32).reshape(2, 3).T}))
    found = cache.get("circuit", "k")
    assert found is not None
    assert found.arrays["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(ValueError, match="read-only"):
        found.arrays["turned"][0, 0] = 7
    with pytest.raises(ValueError, match="WRITEABLE"):
        found.arrays["turned"].flags.writeable = True


def test_kinds_keys_and_versions_are_kept_apart(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "a", words(1))
    cache.put("circuit", "b", words(2))
    cache.put("rules", "a", words(3))
    cache.put("rules", "\udc80 ä\n/../", words(4))
    other = Cache(tmp_path, version="other")
    assert other.get("circuit", "a") is None
    other.put("circuit", "a", words(5))
    found = [cache.get(kind, key) for kind, key in (("circuit", "a"), ("circuit", "b"), ("rules", "a"))]
    assert [values(entry) for entry in found] == [[1], [2], [3]]
    assert values(cache.get("rules", "\udc80 ä\n/../")) == [4]
    assert values(other.get("circuit", "a")) == [5]
    assert [(kind, usage.files) for kind, usage in cache.usage().items()] == [("circuit", 3), ("rules", 2)]


def test_what_no_file_can_hold_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(TypeError, match="'things' holds Python objects"):
        cache.put("circuit", "k", CacheEntry({"things": np.array([object()])}))
    with pytest.raises(TypeError, match="not JSON serializable"):
        cache.put("circuit", "k", CacheEntry(notes={"set": {1}}))
    for kind in ("", "../up", "Upper", "kernels"):
        with pytest.raises(ValueError, match="cannot name a kind"):
            cache.get(kind, "k")
    assert list(tmp_path.iterdir()) == []


def test_damage_at_any_byte_is_noticed_and_repaired(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "k", words(1, 2, 3))
    (path,) = files(cache)
    sound = path.read_bytes()
    flipped = [sound[:at] + bytes([sound[at] ^ (1 << at % 8)]) + sound[at + 1 :] for at in range(len(sound))]
    cut = [sound[:size] for size in range(len(sound))]
    for damaged in [*flipped, *cut, sound + b"\0", sound * 2, bytes(len(sound)), b"PK\x03\x04" * 100]:
        path.write_bytes(damaged)
        assert cache.get("circuit", "k") is None
        assert not path.exists()
    cache.put("circuit", "k", words(1, 2, 3))
    assert path.read_bytes() == sound
    assert values(cache.get("circuit", "k")) == [1, 2, 3]


def test_an_entry_under_the_name_of_another_is_foreign(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "a", words(1))
    (first,) = files(cache)
    cache.put("circuit", "b", words(2))
    (second,) = set(files(cache)) - {first}
    second.replace(first)
    assert cache.get("circuit", "a") is None
    assert files(cache) == []


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{",
        '{"notes": {}}',
        '{"notes": {}, "arrays": [["a", "\'<i4\'", [9]]]}',
        '{"notes": {}, "arrays": [["a", "\'|O\'", [1]]]}',
        '{"notes": {}, "arrays": [["a", "print()", [1]]]}',
        '{"notes": {}, "arrays": [["a", "(", [1]]]}',
    ],
)
def test_a_sound_file_with_a_strange_header_is_foreign(tmp_path: Path, header: str) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "k", words(1))
    (path,) = files(cache)
    identity = cache._identity("circuit", "k")
    text = header.encode()
    body = text + bytes(-len(text) % 64) + bytes(8)
    head = ggp.cache._HEAD.pack(ggp.cache._MAGIC, 0, ggp.cache._HEAD.size + len(body), len(text), identity)
    checksum = zlib.crc32(head[12:] + body)
    path.write_bytes(head[:8] + checksum.to_bytes(4, "little") + head[12:] + body)
    assert cache.get("circuit", "k") is None
    assert not path.exists()


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "0", words(*range(100)))
    size = cache.usage()["circuit"].size_bytes
    cache = Cache(tmp_path, 3 * size + size // 2)
    for key in "12":
        cache.put("circuit", key, words(*range(100)))
    assert cache.get("circuit", "0") is not None  # now 1 is the oldest
    cache.put("circuit", "3", words(*range(100)))
    assert [key for key in "0123" if cache.get("circuit", key)] == ["0", "2", "3"]
    cache.put("circuit", "4", words(*range(100)))
    assert [key for key in "01234" if cache.get("circuit", key)] == ["2", "3", "4"]
    cache.put("circuit", "large", words(*range(1_000)))
    assert cache.get("circuit", "large") is None
    assert cache.usage() == {"circuit": Usage(3, 3 * size)}


def test_what_dead_writers_left_is_removed_in_time(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("circuit", "k", words(1))
    old, new = tmp_path / "entries" / "a.unfinished", tmp_path / "entries" / "b.unfinished"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - DAY,) * 2)
    cache.put("circuit", "k", words(2))
    assert not old.exists()
    assert new.exists()
    assert cache.usage()["unfinished"] == Usage(1, 4)


def test_clear_removes_everything(tmp_path: Path) -> None:
    cache = default_cache()
    assert cache.clear() == 0
    cache.put("circuit", "a", words(1))
    cache.put("rules", "b", words(2))
    (kernel_folder() / "name-hash.kernel").write_bytes(b"code")
    assert cache.usage()["kernels"] == Usage(1, 4)
    assert cache.clear() == 3
    assert cache.usage() == {}
    assert cache.get("circuit", "a") is None
    cache.put("circuit", "a", words(3))
    assert values(cache.get("circuit", "a")) == [3]


def write_and_read(folder: Path, number: int, limit_bytes: int, wrong: "multiprocessing.Queue[str]") -> None:
    cache = Cache(folder, limit_bytes)
    for turn in range(150):
        key = str((turn + number) % 5)
        cache.put("circuit", key, words(*[int(key) * 1_000 + number] * (50 + 400 * number)))
        found = values(cache.get("circuit", key)) or []
        if any(value // 1_000 != int(key) for value in found) or len(set(found)) > 1:
            wrong.put(f"{key}: {found}")
        if turn % 40 == 39:
            cache.clear()
    wrong.put("")


@pytest.mark.parametrize("limit_bytes", [1 << 30, 10_000])
def test_processes_that_write_the_same_entries_never_see_a_half(
    tmp_path: Path, limit_bytes: int, capfd: pytest.CaptureFixture[str]
) -> None:
    context = multiprocessing.get_context("spawn")
    wrong: multiprocessing.Queue[str] = context.Queue()
    jobs = [context.Process(target=write_and_read, args=(tmp_path, n, limit_bytes, wrong)) for n in range(3)]
    for job in jobs:
        job.start()
    assert [wrong.get(timeout=120) for _ in jobs] == ["", "", ""]
    for job in jobs:
        job.join()
        assert job.exitcode == 0
    assert not [path for path in files(Cache(tmp_path)) if path.suffix != ".entry"]
    assert "damaged" not in capfd.readouterr().err


def test_where_nothing_can_be_written_there_is_no_cache_and_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    for folder in (in_the_way, in_the_way / "below"):
        caplog.clear()
        cache = Cache(folder)
        for key in "abc":
            cache.put("circuit", key, words(1))
        assert len(caplog.records) == 1
        assert f"the cache {folder} cannot be written" in caplog.text
        assert [cache.get("circuit", key) for key in "abc"] == [None] * 3
        assert cache.usage() == {}
        assert cache.clear() == 0
        assert len(caplog.records) <= 2


def test_a_full_disk_only_means_no_cache(tmp_path: Path) -> None:
    code = f"""
import resource, numpy as np
from pathlib import Path
from ggp.cache import Cache, CacheEntry
cache = Cache(Path({str(tmp_path)!r}), version="v")
cache.put("circuit", "small", CacheEntry({{"a": np.zeros(10)}}))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for key in "ab":
    cache.put("circuit", key, CacheEntry({{"a": np.zeros(100_000)}}))
    assert cache.get("circuit", key) is None
assert cache.get("circuit", "small") is not None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr.count("cannot be written: File too large") == 1
    assert len(files(Cache(tmp_path))) == 1


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a full disk names no file, and the unfinished file has a name of ours."""
    path = tmp_path / "given"

    def fill(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ggp.cache, "_touch", fill)
    with pytest.raises(OSError, match="No space left on device") as raised:
        ggp.cache.write_entry(path, CacheEntry(), bytes(32))
    assert raised.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as missing:
        ggp.cache.write_entry(tmp_path / "no" / "given", CacheEntry(), bytes(32))
    assert missing.value.filename == str(tmp_path / "no" / "given")
    assert not list(tmp_path.iterdir())


def test_folders_are_ours_alone_or_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "new" / "cache"
    cache = Cache(folder)
    cache.put("circuit", "k", words(1))
    (path,) = files(cache)
    assert [each.stat().st_mode & 0o777 for each in (folder, folder / "entries", path)] == [0o700, 0o700, 0o600]
    path.parent.chmod(0o777)
    assert cache.get("circuit", "k") is None
    cache.put("circuit", "other", words(1))
    assert files(cache) == [path]
    assert [record.getMessage().rpartition(" cannot be ")[2] for record in caplog.records] == [
        f"read: {path.parent} is not ours alone",
        f"written: {path.parent} is not ours alone",
    ]
    path.parent.chmod(0o700)
    assert values(cache.get("circuit", "k")) == [1]


def test_folders_above_are_looked_at_up_to_the_root(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    above = tmp_path / "shared"
    above.mkdir()
    cache = Cache(above / "inner" / "cache")
    for mode, is_used in ((0o777, False), (0o1777, True), (0o755, True)):
        above.chmod(mode)
        cache.put("circuit", str(mode), words(mode))
        assert (cache.get("circuit", str(mode)) is not None) == is_used
    assert f"written: others can write to {above}" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("part", ["root", "kernels", "version", "file", "link"])
def test_nothing_of_another_user_is_unpickled(part: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = kernel_folder()
    file = folder / "name-hash.kernel"
    file.write_bytes(b"pickle")
    assert kernel_folder() == folder
    stranger = {"root": folder.parents[1], "kernels": folder.parent, "version": folder, "file": file}
    if part == "link":
        (tmp_path / "elsewhere").mkdir()
        folder.parents[1].rename(tmp_path / "elsewhere" / "cache")
        folder.parents[1].symlink_to(tmp_path / "elsewhere" / "cache")
        stranger["link"] = folder.parents[1]
    os.chown(stranger[part], 65534, 65534, follow_symlinks=False)
    assert kernel_folder() != folder
    assert "compiled kernels are not kept" in caplog.text


def test_a_private_group_may_write_to_folders_above(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    above = tmp_path / "home"
    above.mkdir()
    above.chmod(0o775)
    cache = Cache(above / "cache")
    for is_own in (False, True):
        monkeypatch.setattr(ggp.cache, "_is_own_group", lambda _, is_own=is_own: is_own)
        cache.put("circuit", "k", words(1))
        assert (cache.get("circuit", "k") is not None) == is_own


def test_a_process_that_compiles_ends_with_the_one_that_began_it(tmp_path: Path) -> None:
    code = """
import os, time
from ggp.cache import kernel_folder, warm_in_background
warm_in_background()
warm_in_background()  # one is at work
def workers():
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as line, open(f"/proc/{name}/environ", "rb") as around:
                if b"-m\\0ggp.commands.cache\\0" in line.read() and os.environ["GGP_CACHE"].encode() in around.read():
                    found.append(name)
        except OSError:
            pass
    return found
while not workers():
    pass
print(*workers(), flush=True)
"""
    environment = {**os.environ, "GGP_CACHE": str(tmp_path / "cold")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment, timeout=120)
    (worker,) = done.stdout.split()
    until = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < until:
        pass
    assert not Path(f"/proc/{worker}").exists()
    assert not list((tmp_path / "cold").rglob("begun"))


def test_the_environment_says_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "default"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GGP_CACHE", "here")
    assert cache_folder() == tmp_path / "here"
    for off in ("", "off", " off "):
        monkeypatch.setenv("GGP_CACHE", off)
        assert cache_folder() is None
        cache = default_cache()
        cache.put("circuit", "k", words(1))
        assert cache.get("circuit", "k") is None
        assert cache.usage() == {}
        assert cache.clear() == 0
    monkeypatch.delenv("GGP_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "ggp"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / "home" / ".cache" / "ggp"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().folder == tmp_path / "xdg" / "ggp"
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("GGP_CACHE")
    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None
    assert default_cache().get("circuit", "k") is None


def test_the_environment_says_how_much(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert default_cache().limit_bytes == 1 << 30
    monkeypatch.setenv("GGP_CACHE_LIMIT", "4096")
    assert default_cache().limit_bytes == 4096
    assert not caplog.records
    for text in ("1 GB", "-1", "²"):
        monkeypatch.setenv("GGP_CACHE_LIMIT", text)
        assert default_cache().limit_bytes == 1 << 30
        assert text in caplog.text


def test_nothing_that_is_kept_reads_what_the_version_leaves_out() -> None:
    graph = grimp.build_graph("ggp")
    keeps = re.compile(r"^@(kernel|lean)|cache\.put\(", re.MULTILINE)
    keeping = {module for module in graph.modules if keeps.search(_source(module))}
    assert {"ggp.circuit.build", "ggp.search.mcts.expansion", "ggp.circuit.compile"} <= keeping
    read = set().union(*map(graph.find_upstream_modules, keeping)) | keeping
    assert not {module.split(".")[1] for module in read - {"ggp"}} & UNRELATED


def _source(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def test_the_version_changes_with_the_sources(tmp_path: Path) -> None:
    package = tmp_path / "ggp"
    package.mkdir()
    (package / "cache.py").write_bytes(Path(ggp.cache.__file__).read_bytes())
    (package / "__init__.py").write_text("")
    (package / "inner").mkdir()

    def version() -> str:
        code = "import ggp.cache, sys; assert 'numpy' not in sys.modules; print(ggp.cache.source_version())"
        command = [sys.executable, "-B", "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    first = version()
    assert version() == first
    source = package / "inner" / "module.py"
    source.write_text("x = 1\n")
    second = version()
    source.write_text("x = 2\n")
    third = version()
    source.rename(package / "inner" / "renamed.py")
    fourth = version()
    assert len({first, second, third, fourth}) == 4
    (package / "commands").mkdir()
    (package / "commands" / "new.py").write_text("x = 1\n")
    (package / "analysis.py").write_text("x = 1\n")
    assert version() == fourth  # nothing that is kept reads those
    (package / "notes.txt").write_text("not a source")
    assert version() == fourth


def test_kernels_have_a_folder_of_the_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = kernel_folder()
    assert folder.parent == tmp_path / "default" / "kernels"
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o777 == 0o700
    for value, name in (("1", f"{folder.name}-boundscheck"), ("0", folder.name), ("", folder.name)):
        monkeypatch.setenv("NUMBA_BOUNDSCHECK", value)
        assert kernel_folder().name == name


def test_a_kernel_is_read_back_and_a_damaged_one_is_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep_kernel(tmp_path, "module.name", "1", b"code")
    keep_kernel(tmp_path, "module.name", "2", b"")
    assert [read_kernel(tmp_path, "module.name", digest) for digest in "123"] == [b"code", b"", None]
    (path,) = tmp_path.glob("*-1.kernel")
    for damaged in (b"", b"abc", path.read_bytes()[:-1], b"x" + path.read_bytes()):
        path.write_bytes(damaged)
        assert read_kernel(tmp_path, "module.name", "1") is None
        assert not path.exists()
    assert caplog.text.count("a damaged kernel is removed") == 4


def test_kernels_that_were_long_not_used_are_removed(tmp_path: Path) -> None:
    for number in range(30):
        keep_kernel(tmp_path, "module.name", str(number), b"code")
        os.utime(tmp_path / f"module.name-{number}.kernel", (time.time() - number * DAY,) * 2)
    read_kernel(tmp_path, "module.name", "10")  # used just now
    keep_kernel(tmp_path, "module.other", "0", b"code")
    keep_kernel(tmp_path, "module.name", "new", b"code")
    kept = {path.name.partition("-")[2].removesuffix(".kernel") for path in tmp_path.glob("module.name-*")}
    assert kept == {"new", *map(str, range(14))}


def test_old_kernels_are_removed(tmp_path: Path) -> None:
    kernels = kernel_folder().parent
    ages = {"used-yesterday": 1.0, "used-long-ago": 15.0, kernel_folder().name: 30.0}
    for name, days in ages.items():
        (kernels / name).mkdir(exist_ok=True)
        (kernels / name / "name-hash.kernel").write_bytes(b"code")
        os.utime(kernels / name, (time.time() - days * DAY,) * 2)
    kernel_folder()
    assert {path.name for path in kernels.iterdir()} == {kernel_folder().name, "used-yesterday"}
    for number in range(30):
        (kernels / f"version-{number}").mkdir()
        os.utime(kernels / f"version-{number}", (time.time() - number,) * 2)
    kernel_folder()
    kept = {path.name for path in kernels.iterdir()}
    assert kept == {kernel_folder().name, *(f"version-{number}" for number in range(16))}


def test_kernels_go_to_a_temporary_folder_where_there_is_no_cache(tmp_path: Path) -> None:
    code = """
from ggp.cache import kernel_folder
folder = kernel_folder()
assert folder == kernel_folder() and folder.is_dir() and folder.stat().st_mode & 0o777 == 0o700
print(folder)
"""
    (tmp_path / "file").write_text("")
    for chosen, lines in (("off", 0), (str(tmp_path / "file"), 1)):
        environment = {**os.environ, "GGP_CACHE": chosen, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
        assert Path(done.stdout.strip()).parent == tmp_path
        assert not Path(done.stdout.strip()).exists()
        assert done.stderr.count("compiled kernels are not kept") == lines


def test_the_command_shows_and_clears(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = typer.Typer()
    add_commands(app)
    app.command("other")(lambda: None)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["cache", *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    folder = tmp_path / "default"
    assert run("show") == f"{folder}, at most 1,024.0 MiB without the kernels\n  empty\n"
    default_cache().put("circuit", "k", CacheEntry({"zeros": np.zeros(1 << 20, np.uint8)}))
    assert run("show").splitlines()[1:] == ["  circuit: 1 file, 1.0 MiB"]
    shown = json.loads(run("show", "--json"))
    assert (shown["folder"], shown["limit_bytes"]) == (str(folder), 1 << 30)
    assert shown["kinds"]["circuit"]["files"] == 1
    assert run("clear") == "removed 1 file\n"
    assert run("clear") == "removed 0 files\n"
    monkeypatch.setenv("GGP_CACHE", "off")
    assert run("show").startswith("no cache (GGP_CACHE is off")
    assert json.loads(run("show", "--json"))["folder"] is None


def test_damage_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    cache = Cache(tmp_path)
    cache.put("circuit", "k", words(1))
    files(cache)[0].write_bytes(b"")
    assert cache.get("circuit", "k") is None
    assert f"a damaged entry of the cache is removed: {tmp_path}" in caplog.text


def test_a_damaged_kernel_is_not_used_where_it_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_kernel(tmp_path, "name", "digest", b"code")
    assert read_kernel(tmp_path, "name", "digest") == b"code"
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])

    def refuse(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", refuse)
    assert read_kernel(tmp_path, "name", "digest") is None
