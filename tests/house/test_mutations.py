"""The deliberate breaks fit the code as it is now: each finds its place, its tests exist, no promise is without one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from mutate import PACKAGE, ROOT, Mutation
from mutations import MUTATIONS

PROMISES = 8
OTHERS = {"hostile", "fuzz", "soak", "clients", "admin", "fleet"}

each = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def tree_of(path: Path) -> str:
    return ast.dump(ast.parse(text_of(path)))


@cache
def functions_of(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(text_of(path)))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@each
def test_a_mutation_finds_its_place_once_and_changes_what_python_reads_there(mutation: Mutation) -> None:
    path = ROOT / PACKAGE / mutation.file
    text = mutation.broken(text_of(path))
    assert text is not None, f"the old text of {mutation.name} does not stand once in {mutation.file}"
    assert ast.dump(ast.parse(text)) != tree_of(path)


@each
def test_the_tests_of_a_mutation_exist(mutation: Mutation) -> None:
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert re.sub(r"\[.*", "", name) in functions_of(ROOT / file), test


def test_every_promise_is_broken_at_least_once() -> None:
    assert {mutation.promise for mutation in MUTATIONS} == {*range(1, PROMISES + 1), *OTHERS}


def test_mutations_are_named_apart() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
