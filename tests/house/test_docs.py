"""README and docs/ name only what is there: commands and flags, tools, addresses, settings, files, tests, sections."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from functools import cache
from pathlib import Path

import anyio
import pytest
from fastmcp import Client

from holdfast.__main__ import _parser
from holdfast.app import build_memory, build_server
from holdfast.settings import SETTINGS, load_settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOREIGN_FLAGS = {"--upgrade", "--header"}  # of uv, of the Inspector
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def pages() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def spans(page: Path) -> list[str]:
    """The `code` within sentences and tables."""
    return SPAN.findall(FENCE.sub("", text_of(page)))


def shell_lines(page: Path) -> list[str]:
    """Each command in a sh block, continued lines joined."""
    blocks = [body for _, language, body in FENCE.findall(text_of(page)) if language == "sh"]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in re.split(r"&&|\|\||(?<!\|)\|(?!\|)|;", line)]
    return [part for part in parts if part and not part.startswith("#")]


def calls(page: Path) -> list[list[str]]:
    """The arguments of every call of our command, in blocks and within sentences."""
    found = []
    for line in [*shell_lines(page), *(span for span in spans(page) if re.match(r"(\S*/)?holdfast( |$)", span))]:
        words = shlex.split(line, comments=True)
        for at, word in enumerate(words):
            first = at == 0 or words[at - 1] == "--" or all("=" in before for before in words[:at])
            if first and word.rpartition("/")[2] == "holdfast":
                found.append(words[at + 1 :])
    return found


@cache
def server_names() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Tools, addresses of resources up to their first parameter, and prompts of a server with the gate open."""

    async def ask() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        environ = {"HOLDFAST_HOME": "/nowhere/holdfast", "HOLDFAST_ENCODER": "none", "HOLDFAST_VIEW": "always"}
        settings = load_settings(environ)
        async with Client(build_server(settings, build_memory(settings), admin=True)) as client:
            tools = frozenset(tool.name for tool in await client.list_tools())
            resources = {str(resource.uri) for resource in await client.list_resources()}
            templates = {template.uri_template for template in await client.list_resource_templates()}
            prompts = frozenset(prompt.name for prompt in await client.list_prompts())
            return tools, frozenset(map(address, resources | templates)), prompts

    return anyio.run(ask)


def address(uri: str) -> str:
    """What an address begins with: `memory://note/{id}` and `memory://note/mem_1` are alike."""
    return "/".join(re.split(r"[{?]", uri, maxsplit=1)[0].split("/")[:3])


@pages()
def test_every_command_and_flag_is_understood(page: Path) -> None:
    for arguments in calls(page):
        shown = ["x" if word in {"…", "..."} or word.startswith("<") else word for word in arguments]
        assert understood(shown), f"holdfast {' '.join(arguments)}"


def understood(arguments: list[str]) -> bool:
    """Whether our command takes these arguments, or they are one of its commands that is only named."""
    if len(arguments) == 1 and arguments[0] in commands_of(_parser()):
        return True
    try:
        _parser().parse_args(arguments)
    except SystemExit as error:
        return error.code == 0
    return True


def commands_of(parser: argparse.ArgumentParser) -> set[str]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name for action in inner for name in action.choices}


def test_there_are_commands_to_judge() -> None:
    assert len(calls(PAGES[0])) >= 3


@pages()
def test_a_flag_that_is_named_alone_is_one_of_something_here(page: Path) -> None:
    known = flags_of(_parser()) | flags_in_scripts()
    named = {span.split()[0].partition("=")[0] for span in spans(page) if span.startswith("--")}
    assert not sorted(named - known - FOREIGN_FLAGS)


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {flag for inner in action.choices.values() for flag in flags_of(inner)}
    return found


def flags_in_scripts() -> set[str]:
    """Options of benches and of the tests."""
    scripts = [*(ROOT / "bench").glob("*.py"), ROOT / "tests/conftest.py", ROOT / "tests/mutations.py",
               ROOT / "tests/mutate.py"]  # fmt: skip
    return {flag for path in scripts for flag in re.findall(r'"(--[a-z-]+)"', text_of(path))}


@pages()
def test_every_bench_command_has_its_flags(page: Path) -> None:
    for line in [*shell_lines(page), *spans(page)]:
        found = re.search(r"python (bench/\w+\.py|tests/\w+\.py)(.*)", line)
        if found:
            flags = set(re.findall(r"(--[a-z-]+)", found[2]))
            assert (ROOT / found[1]).exists(), line
            assert not flags - flags_in_scripts(), line


@pages()
def test_every_setting_that_is_named_is_one(page: Path) -> None:
    named = set(re.findall(r"\bHOLDFAST_[A-Z0-9_]+\b", text_of(page)))
    assert not sorted(named - {setting.variable for setting in SETTINGS})


@pages()
def test_every_tool_that_is_named_is_one(page: Path) -> None:
    tools, _, _ = server_names()
    families = ("admin_", "memory_", "recall_", "now_", "mark_", "submit_", "run_", "belief_", "integrity_")
    words = {re.split(r"[^a-z_]", span)[0] for span in spans(page)}
    named = {word for word in words if word.startswith(families)}
    assert not sorted(named - tools)


@pages()
def test_every_address_that_is_named_is_one(page: Path) -> None:
    _, addresses, _ = server_names()
    named = set(re.findall(r"\b(?:memory|admin)://[^\s`,)\"]+", text_of(page)))
    assert not sorted(uri for uri in named if address(uri) not in addresses)


def test_every_admin_tool_and_every_address_is_told_of() -> None:
    tools, addresses, _ = server_names()
    told = "\n".join(map(text_of, PAGES))
    assert not sorted(tool for tool in tools if f"`{tool}" not in told)
    assert not sorted(uri for uri in addresses if uri not in told)


@pages()
def test_files_and_tests_that_are_named_are_there(page: Path) -> None:
    named = [span for span in spans(page) if re.match(r"(?:server|tests|bench|docs|\.ci)/", span)]
    missing = []
    for name in named:
        file, _, test = name.partition("::")
        path = ROOT / file
        if not path.exists() or (test and test.partition("[")[0] not in functions_of(path)):
            missing.append(name)
    assert not missing
    assert named or page != PAGES[0]


def functions_of(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(text_of(path)))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pages()
def test_links_lead_to_files_and_sections(page: Path) -> None:
    text = FENCE.sub("", text_of(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, section = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), target
        assert not section or section in sections(path), target


def sections(page: Path) -> set[str]:
    """How headings are linked to."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_readme() -> None:
    told = text_of(PAGES[0])
    assert not [page.name for page in PAGES[1:] if f"docs/{page.name}" not in told]
