"""What only Linux has is left aside elsewhere: nothing but that is missing."""

from __future__ import annotations

import errno
import fcntl
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import anyio
import pytest

import holdfast.store.locks
from holdfast.errors import StorageError
from holdfast.model.note import slug
from processes import ERAS, PATIENCE, ROOT, stdio
from worlds import ask, found, keep, living

PACKAGE = ROOT / "server" / "holdfast"

# Everything that is not ours is imported first, with the system's own name; then every module of ours with another.
_IMPORT_ALL = """
import fcntl, importlib, pathlib, sys, types
root = pathlib.Path(sys.argv[1])
names = [".".join(("holdfast", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
         for path in sorted(root.rglob("*.py"))]
for name in names:
    importlib.import_module(name)
for system in ("win32", "darwin"):
    for name in [name for name in sys.modules if name.partition(".")[0] == "holdfast"]:
        del sys.modules[name]
    sys.platform = system
    sys.modules |= {"resource": None, "inotify_simple": None}
    sys.modules |= {"fcntl": None, "msvcrt": types.ModuleType("msvcrt")} if system == "win32" else {"fcntl": fcntl}
    for name in names:
        importlib.import_module(name)
print(len(names))
"""

# A server whose event loop hears of no signals, as on Windows.
_DEAF = """
import anyio, sys
def deaf(*_):
    raise NotImplementedError
anyio.open_signal_receiver = deaf
import holdfast.running
holdfast.running.HEARS_SIGNALS = False
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_every_module_can_be_imported_without_what_only_linux_has(environment: dict[str, str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL, str(PACKAGE)], env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 100


def test_where_the_loop_hears_no_signals_a_server_serves_and_ends(environment: dict[str, str]) -> None:
    command = (sys.executable, "-c", _DEAF)
    with stdio(environment, ERAS[0], command) as server:
        server.begin()
        assert server.tool("remember", content="The anchor is in the shed.")["structuredContent"]["id"]
        assert server.end()[0] == 0
    with stdio(environment, ERAS[0], command) as server:
        server.begin()
        server.process.send_signal(signal.SIGTERM)
        assert server.ended()[0] == 0


@pytest.mark.anyio
async def test_without_watches_exchanges_and_syncfs_notes_are_kept_found_and_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    async with living(tmp_path / "memory") as memory:
        note = (await keep(memory, "The anchor is in the shed.")).note
        assert not memory.ports.store.watches
        (file,) = (tmp_path / "memory").glob(f"memories/*/*.{note.id}.md")
        file.write_text(file.read_text("utf-8").replace("shed", "hold"), "utf-8")
        with anyio.fail_after(PATIENCE):  # without a watch, a scan is due after a second or two
            while found(await ask(memory, "Where is the anchor?")) != ["The anchor is in the hold."]:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        await keep(memory, "It is in the bilge.", supersedes=[note.id])
        assert "superseded_by" in file.read_text("utf-8")


class Msvcrt(ModuleType):
    """Windows' locks, made of this system's: a try fails at once where another handle has it."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert (os.lseek(handle, 0, os.SEEK_CUR), count) == (0, 1)  # always the same byte
        try:
            fcntl.flock(handle, fcntl.LOCK_UN if mode == self.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided") from error


@pytest.fixture
def windows_locks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of locks as it is on Windows."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt("msvcrt"))
    spec = importlib.util.spec_from_file_location("windows_locks", holdfast.store.locks.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.undo()
    return module


@pytest.mark.anyio
async def test_windows_locks_exclude_each_other_and_are_free_again(windows_locks: ModuleType, tmp_path: Path) -> None:
    first, second = (windows_locks.Lock(tmp_path / "locks" / "00", patience=0.1) for _ in range(2))
    async with first.hold():
        async with second.hold_if_free() as free:
            assert not free
        with pytest.raises(StorageError):
            async with second.hold():
                pytest.fail("two hold it")
    async with second.hold_if_free() as free:
        assert free
    first.close()
    second.close()


def test_no_file_is_named_like_a_device() -> None:
    assert slug("CON") == "note-con"
    assert slug("con artist") == "con-artist"
    assert slug("Lpt1!") == "note-lpt1"


def test_a_file_is_named_after_its_title_in_any_script() -> None:
    assert slug("Das Büro schließt um 18 Uhr") == "das-büro-schließt-um-18-uhr"
    assert slug("数据库的备份每天晚上十点钟开始运行") == "数据库的备份每天晚上十点钟"
    assert slug("हम शुक्रवार को तैनाती नहीं करते") == "हम-शुक्रवार-को"
    assert slug("!?") == "note"
    assert all(len(slug(sign * 300).encode()) <= 40 for sign in "aßж字𐍈")
