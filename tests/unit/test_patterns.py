"""Patterns are made when they are first used, and can all be made."""

from __future__ import annotations

import re
import subprocess
import sys

from holdfast.model.words import regex

# Prints how many patterns there are when all of a module is imported, and how many of them are made by then; then makes
# all. In a process of its own, since nobody else has used one there.
COUNTING = """import gc, importlib, pkgutil, holdfast, {module}
each = [one for one in gc.get_objects() if type(one).__name__ == "_Regex"]
print(len(each), sum("_made" in vars(one) for one in each))
assert all(one.pattern is not None for one in each)
"""
ALL = """for room in ("model", "store", "index", "engine"):
    for each in pkgutil.walk_packages([f"{holdfast.__path__[0]}/{room}"], f"holdfast.{room}."):
        importlib.import_module(each.name)
"""


def counted(module: str, before: str = "") -> tuple[int, int]:
    program = COUNTING.format(module=module).replace("\n", f"\n{before}", 1)
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    there, made = map(int, told.split())
    return there, made


def test_a_pattern_is_one_of_re_in_all_that_is_asked_of_it() -> None:
    pattern = regex(r"(?P<letter>[a-z])\d", re.IGNORECASE)
    made = re.compile(r"(?P<letter>[a-z])\d", re.IGNORECASE)
    assert (pattern.pattern, pattern.flags, pattern.groupindex) == (made.pattern, made.flags, made.groupindex)
    assert pattern.findall("a1 B2") == ["a", "B"]
    assert pattern.sub(r"\g<letter>", "a1 B2") == "a B"
    assert [found.span() for found in pattern.finditer("a1 B2", 1)] == [(3, 5)]


def test_a_hook_that_starts_makes_next_to_none() -> None:
    there, made = counted("holdfast.from_index")
    assert there > 200
    assert made < 10, "it would wait for each of them"


def test_all_of_them_can_be_made() -> None:
    there, made = counted("holdfast", before=ALL)
    assert there > 300
    assert made < 20
