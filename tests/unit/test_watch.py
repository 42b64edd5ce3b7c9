"""Hearing of changes from the kernel, where the kernel tells."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.store.folder import Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has inotify")


def test_a_watch_that_is_closed_in_the_middle_of_a_scan_ends_it_without_a_word(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    watch.begin()
    watch.add(str(tmp_path))
    watching = watch._inotify
    assert watching is not None
    watching.close()
    watch.add(str(tmp_path))
    watch.close()
    watch.add(str(tmp_path))
    assert not watch.on
