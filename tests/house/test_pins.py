"""What is installed is what was pinned; no text names a path of this machine or a host not on the list."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "requirements.txt"
DEVELOPMENT = ROOT / "requirements-dev.txt"
EXTRA = ROOT / "requirements-postgres.txt"
MULTILINGUAL = ROOT / "requirements-multilingual.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

PIN = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)"
    r"(?: ; [^\\]*?)?"
    r"(?: --hash=sha256:[0-9a-f]{64})+"
)

# Hosts that text may name: loopback, names reserved for examples, and pages that a reader is sent to.
HOSTS = {"127.0.0.1", "localhost", "[::1]", "keepachangelog.com", "www.apache.org"}
HOSTS |= {"api.openai.com", "integrate.api.nvidia.com"}  # where these providers are, for who chooses them
HOSTS |= {"claude.ai", "chatgpt.com"}  # where a conversation can be read again; kept in notes, never asked
# Made-up addresses in data: parts of invented notes and of invented secrets.
HOSTS |= {"hs.burrow.example.", "hooks.slack", "me"}
# What real sessions of a client hold of the client's own texts (tests/real_sessions).
HOSTS |= {"claude.com", "json-schema.org"}
HOSTS |= {"topology.kubernetes.io"}  # a label of machines, and no address
HOSTS |= {"agent-plugins.org"}  # names the schemas of its manifests; nothing asks it
RESERVED = re.compile(r"(^|\.)(example|test|invalid|localhost|example\.(com|net|org))$")
URL = re.compile(r"\bhttps?://(?:[^\s/@'\"`]*@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)")
BARE_HOST = re.compile(r"(?<![\w./@-])((?:[a-z0-9-]+\.)+(?:org|com|net|io|dev))(?![\w-])", re.IGNORECASE)

# Folders that stand at the top of many machines: no sign of a particular one.
COMMON_TOPS = {"app", "build", "data", "home", "mnt", "opt", "private", "src", "tmp", "usr", "Users", "var"}
BUNDLED = "server/holdfast/tools/view/view.html"  # work of others and its licences; its policy lets it fetch nothing
UNTRACKED = {".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def logical_lines(path: Path) -> list[str]:
    """Lines joined where a backslash continues them, without comments."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    return [" ".join(line.split()) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def pins(path: Path) -> set[tuple[str, str]]:
    """Name and version of every pin; a name has several where Python versions or platforms differ."""
    found = [PIN.fullmatch(line) for line in logical_lines(path)]
    return {(normal(pin["name"]), pin["version"]) for pin in found if pin}


def names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]) for requirement in requirements}


def tracked() -> list[Path]:
    """What git tracks or would track; without git (a source archive), what is there."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        paths = [ROOT / name for name in listed if name]
    else:
        paths = [path for path in ROOT.rglob("*") if not UNTRACKED & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def texts() -> dict[str, str]:
    """Every tracked text file by its path in the tree."""
    found = {}
    for path in tracked():
        raw = path.read_bytes()
        if b"\0" not in raw:
            found[path.relative_to(ROOT).as_posix()] = raw.decode("utf-8", "replace")
    return found


def own_folders() -> list[re.Pattern[str]]:
    """Folders that only this machine has: the checkout, the home folder, the interpreters."""
    places = {ROOT, Path.home(), Path(sys.prefix), Path(sys.base_prefix)}
    own = {place.as_posix() for place in places if len(place.parts) > 2 and place.parts[1] != "usr"}
    tops = {place.parts[1] for place in places if place.anchor == "/" and len(place.parts) > 1}
    endings = [rf"{re.escape(folder)}(?![\w-])" for folder in own]
    return [re.compile(pattern) for pattern in [*endings, *(f"/{re.escape(top)}/" for top in tops - COMMON_TOPS)]]


def allowed(host: str) -> bool:
    return host in HOSTS or RESERVED.search(host) is not None


@pytest.mark.parametrize("path", [RUNTIME, DEVELOPMENT, EXTRA, MULTILINGUAL], ids=lambda path: path.name)
def test_every_line_is_a_pin_with_its_hashes(path: Path) -> None:
    lines = logical_lines(path)
    assert lines
    assert not [line for line in lines if not PIN.fullmatch(line)]


@pytest.mark.parametrize("path", [RUNTIME, DEVELOPMENT, MULTILINGUAL], ids=lambda path: path.name)
def test_a_requirements_file_names_no_host(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "://" not in text
    assert not BARE_HOST.findall(text)


@pytest.mark.parametrize("path", [RUNTIME, DEVELOPMENT], ids=lambda path: path.name)
def test_the_first_lines_say_how_the_file_is_made(path: Path) -> None:
    head = "\n".join(path.read_text("utf-8").splitlines()[:3])
    assert f"-o {path.name}" in head
    assert "--generate-hashes" in head


def test_every_dependency_and_the_build_backend_are_pinned() -> None:
    wanted = names([*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]])
    assert wanted <= {name for name, _ in pins(RUNTIME)}


def test_every_development_tool_is_pinned() -> None:
    wanted = names(PROJECT["dependency-groups"]["dev"])
    assert wanted <= {name for name, _ in pins(DEVELOPMENT)}


def test_the_extra_for_other_languages_is_pinned() -> None:
    [wanted] = PROJECT["project"]["optional-dependencies"]["multilingual"]
    [(name, version)] = pins(MULTILINGUAL)
    assert wanted.startswith(f"{name}=={version};")


def test_development_runs_on_the_versions_that_users_get() -> None:
    assert pins(RUNTIME) <= pins(DEVELOPMENT)


def test_the_extra_of_an_image_is_what_is_tested() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    extra = names([*extras["postgres"], *extras["metrics"]])
    assert extra <= {name for name, _ in pins(EXTRA)}
    assert pins(EXTRA) <= pins(DEVELOPMENT)
    assert set(logical_lines(EXTRA)) <= set(logical_lines(DEVELOPMENT))


def commands(name: str) -> list[str]:
    """The lines of a text that install from a requirements file."""
    return [
        line for line in (ROOT / name).read_text("utf-8").splitlines() if re.search(r"install\b.* -r \S+\.txt", line)
    ]


@pytest.mark.parametrize(
    "name", ["README.md", "Dockerfile", "docs/fleet.md", "docs/multilingual.md", "docs/observability.md"]
)
def test_what_is_pinned_is_installed_and_nothing_is_resolved(name: str) -> None:
    """Asked for `pydantic[email]` by a dependency, pip takes the newest, which is not the pinned one."""
    found = commands(name)
    assert found
    assert not [line for line in found for each in line.split("&&") if " -r " in each and "--no-deps" not in each]


def needed(name: str, extras: frozenset[str]) -> list[Requirement]:
    """What an installed package asks for here, with these of its extras."""
    asked = map(Requirement, metadata.requires(name) or ())
    environments = [{"extra": extra} for extra in ("", *extras)]
    return [each for each in asked if each.marker is None or any(map(each.marker.evaluate, environments))]


def test_the_pins_are_whole() -> None:
    """Whoever installs them without resolving anything has all that each of them needs, in a version that it takes."""
    waiting = [Requirement("holdfast"), *map(Requirement, PROJECT["dependency-groups"]["dev"])]
    pinned, seen, wrong = dict(pins(DEVELOPMENT)), set(), []
    while waiting:
        wanted = waiting.pop()
        key = (normal(wanted.name), frozenset(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        if key[0] != "holdfast" and (key[0] not in pinned or not wanted.specifier.contains(metadata.version(key[0]))):
            wrong.append(str(wanted))
        else:
            waiting += needed(*key)
    assert not wrong
    assert len(seen) > 50


def test_no_text_holds_a_path_of_this_machine() -> None:
    folders = own_folders()
    assert not [(name, folder.pattern) for name, text in texts().items() for folder in folders if folder.search(text)]


def strangers(pattern: re.Pattern[str], among: dict[str, str]) -> set[tuple[str, str]]:
    """File and host of every match that is not on the list."""
    own = {name: text for name, text in among.items() if name != BUNDLED}
    return {(name, host) for name, text in own.items() for host in pattern.findall(text) if not allowed(host)}


def test_addresses_lead_only_to_hosts_on_the_list() -> None:
    assert not strangers(URL, texts())


def test_configuration_names_no_host_that_is_not_on_the_list() -> None:
    kinds = {"", ".toml", ".txt", ".example", ".md", ".yaml", ".yml", ".cfg"}
    assert not strangers(BARE_HOST, {name: text for name, text in texts().items() if Path(name).suffix in kinds})
