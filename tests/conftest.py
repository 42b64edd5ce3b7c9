"""What all tests share: how hard to try, and the count of what was tried, which is printed at the end."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import structlog
from hypothesis import HealthCheck, settings

import forked
from processes import environment_in
from schemas import worked_out_once

LONG_SECONDS = 3600
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # how fast is for benches to say
settings.register_profile("short", derandomize=True, database=None, **UNHURRIED)  # the same examples in every run
settings.register_profile("long", **UNHURRIED)
_TALLY = pytest.StashKey[Counter[str]]()


@dataclass(frozen=True)
class Effort:
    """The short form is for every run; `pytest --long` is for a night."""

    long: bool

    def of(self, short: int, long: int) -> int:
        return long if self.long else short


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="the long form of kills, faults, fuzzing and soaking")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are processors: many tests wait for a process, a lock or a clock."""
    return (os.cpu_count() or 1) + 2


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are imported
    config.stash[_TALLY] = Counter()
    settings.load_profile("long" if config.getoption("--long") else "short")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        for item in items:
            item.add_marker(pytest.mark.timeout(LONG_SECONDS), append=False)
    elif spared := {*_out_of_turn(items)}:
        config.hook.pytest_deselected(items=[*spared])
        items[:] = [item for item in items if item not in spared]


def _out_of_turn(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Of a test marked `in_turn(n)` all cases but those whose parameters' places add up to a multiple of n.

    So each pair of values of two parameters is still met, where a third has n values.
    """
    places: dict[tuple[str, str], list[Any]] = {}
    for item in items:
        if (mark := item.get_closest_marker("in_turn")) is None:
            continue
        place = 0
        for name, value in getattr(getattr(item, "callspec", None), "params", {}).items():
            met = places.setdefault((item.nodeid.partition("[")[0], name), [])
            if value not in met:
                met.append(value)
            place += met.index(value)
        if place % mark.args[0]:
            yield item


def pytest_collection_finish() -> None:
    """What was imported stays: to look through all of it, again and again, took a tenth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marked = item.get_closest_marker("whole_start") is not None
    forked.whole_starts(wanted=marked, is_long=bool(item.config.getoption("--long")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    forked.end_shared()
    if "postgres" in sys.modules:  # a worker of several ends without what `atexit` has
        sys.modules["postgres"].end_shared()
    if (told := getattr(session.config, "workeroutput", None)) is not None:  # one of several processes: tell the first
        told["tally"] = dict(session.config.stash[_TALLY])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_TALLY].update(getattr(node, "workeroutput", {}).get("tally", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if tally := config.stash[_TALLY]:
        terminalreporter.section("tried")
        for what in sorted(tally):
            terminalreporter.write_line(f"{tally[what]:>10,}  {what}")


@pytest.fixture(scope="session")
def effort(request: pytest.FixtureRequest) -> Effort:
    return Effort(bool(request.config.getoption("--long")))


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Counter[str]:
    """Figures by what they count, such as `kills survived`; tests add to it."""
    return request.config.stash[_TALLY]


@pytest.fixture(scope="session", autouse=True)
def _own_logs() -> Iterator[None]:
    """A bench that runs in this process sets up no logs: what it kept for good, no later test could read."""
    with patch.object(structlog, "configure"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _schemas() -> Iterator[None]:
    with worked_out_once():
        yield


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a server process whose memory is in the test's own folder."""
    return environment_in(tmp_path)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
