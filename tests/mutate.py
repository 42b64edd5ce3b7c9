"""Breaks the code on purpose, each time in a copy of its own, and looks whether a test fails."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).parents[1]
PACKAGE = Path("server") / "holdfast"
TEST_SECONDS = 120  # for a test without a limit of its own; one that hangs has noticed the break, one that is slow not
RUN_SECONDS = 900.0
LONGEST_TEST = 90
FAILED = 1  # pytest: tests were run, and some failed

Verdict: TypeAlias = Literal["caught", "NOT CAUGHT", "stale", "broken"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One deliberate break.

    Args:
        name: what it is called on the command line.
        promise: the number of the promise that it breaks, or a word for another proof.
        words: what is then wrong.
        file: below `server/holdfast`.
        old: what stands there, exactly once.
        new: what is put in its place.
        tests: pytest's names of the tests of which one must fail.
    """

    name: str
    promise: int | str
    words: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def broken(self, text: str) -> str | None:
        """The file's text with the break in it; None where the old text does not stand there exactly once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation. `told` is the failure's own line, or why there is none."""

    mutation: Mutation
    verdict: Verdict
    seconds: float
    told: str


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the project in a folder that is removed afterwards."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy"
        for name in filter(None, listed):
            with suppress(FileNotFoundError):  # deleted and not yet committed
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        yield copy


def environment_of(copy: Path) -> dict[str, str]:
    """An environment in which the copy is what is imported, also by the servers that tests start.

    No bytecode is written: a break of the same length within the same second would not be noticed.
    """
    return {**os.environ, "PYTHONPATH": str(copy / "server"), "PYTHONDONTWRITEBYTECODE": "1"}


def assert_imported_from(copy: Path) -> None:
    code = "import holdfast; print(holdfast.__file__)"
    command = (sys.executable, "-c", code)
    said = subprocess.run(command, env=environment_of(copy), cwd=copy, capture_output=True, text=True, check=True)
    if not Path(said.stdout.strip()).is_relative_to(copy.resolve()):
        raise SystemExit(f"another holdfast than the copy would be tested: {said.stdout.strip()}")


def run_tests(copy: Path, tests: Sequence[str], seconds: float = RUN_SECONDS) -> tuple[int, str]:
    """Run tests in a copy; pytest's exit code and what it said. A run without end is ended with all that it began."""
    command = [sys.executable, "-m", "pytest", *tests, "-x", "-q", "-p", "no:cacheprovider", "--tb=short"]
    command += [f"--timeout={TEST_SECONDS}", f"--basetemp={copy.parent / 'temporary'}"]
    with subprocess.Popen(
        command, cwd=copy, env=environment_of(copy), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -signal.SIGKILL, f"still running after {seconds:.0f} s"
    return process.returncode, said


def attempt(mutation: Mutation) -> Outcome:
    """Break a copy, and run the tests that must notice."""
    began = time.monotonic()
    with copied() as copy:
        path = copy / PACKAGE / mutation.file
        text = mutation.broken(path.read_text("utf-8")) if path.exists() else None
        if text is None:
            return Outcome(mutation, "stale", time.monotonic() - began, "its old text does not stand there once")
        path.write_text(text, "utf-8")
        code, said = run_tests(copy, mutation.tests)
    verdict: Verdict = "caught" if code == FAILED else "NOT CAUGHT" if code == 0 else "broken"
    return Outcome(mutation, verdict, time.monotonic() - began, failure_in(said))


def failure_in(said: str) -> str:
    """The line that says what failed, or the last one."""
    lines = said.strip().splitlines() or [""]
    return next((line for line in lines if line.startswith(("FAILED tests", "ERROR tests"))), lines[-1])


def pass_unbroken(mutations: Sequence[Mutation]) -> bool:
    """Whether the tests pass as long as nothing is broken; what they say is shown where they do not."""
    tests = list(dict.fromkeys(test for mutation in mutations for test in mutation.tests))
    with copied() as copy:
        assert_imported_from(copy)
        code, said = run_tests(copy, tests, RUN_SECONDS * max(1, len(mutations) // 10))
    if code:
        print(said)
        print("These tests must pass before anything is broken.")
    return code == 0


def short(test: str) -> str:
    """A test's file and as much of its name as a line takes."""
    name = test.removeprefix("tests/")
    return name if len(name) <= LONGEST_TEST else f"{name[: LONGEST_TEST - 1]}…"


def table(outcomes: Sequence[Outcome]) -> str:
    """One line for each mutation, in columns."""
    rows = [("promise", "mutation", "what is wrong", "test", "", "seconds")]
    rows += [
        (
            str(outcome.mutation.promise), outcome.mutation.name, outcome.mutation.words,
            short(outcome.mutation.tests[0]), outcome.verdict, f"{outcome.seconds:.1f}",
        )
        for outcome in outcomes
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def main(mutations: Sequence[Mutation], arguments: Sequence[str] | None = None) -> int:
    """Try all mutations, or those that are named; 1 where one was not caught."""
    parser = argparse.ArgumentParser(description="Break the code on purpose and see that a test fails.")
    parser.add_argument("names", nargs="*", metavar="name", help="only these mutations")
    parser.add_argument("--list", action="store_true", help="show the mutations and run nothing")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at the same time")
    given = parser.parse_args(arguments)
    chosen = [mutation for mutation in mutations if not given.names or mutation.name in given.names]
    if unknown := set(given.names) - {mutation.name for mutation in chosen}:
        parser.error(f"no mutation has the name {', '.join(sorted(unknown))}")
    if given.list:
        for mutation in chosen:
            print(f"{mutation.promise!s:<8}  {mutation.name}: {mutation.words}")
        return 0
    began = time.monotonic()
    if not pass_unbroken(chosen):
        return 1
    print(f"{time.monotonic() - began:6.1f} s  the tests pass as long as nothing is broken", flush=True)
    outcomes = []
    with ThreadPoolExecutor(given.jobs) as workers:
        for outcome in workers.map(attempt, chosen):
            outcomes.append(outcome)
            print(f"{outcome.seconds:6.1f} s  {outcome.verdict}: {outcome.mutation.name} | {outcome.told}", flush=True)
    caught = sum(outcome.verdict == "caught" for outcome in outcomes)
    print(f"\n{table(outcomes)}\n\n{caught} of {len(outcomes)} caught in {time.monotonic() - began:.0f} s")
    return int(caught < len(outcomes))
