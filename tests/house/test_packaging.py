"""What is built is whole: the wheel runs alone, the sdist makes the same wheel, the Dockerfile names what there is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from processes import PATIENCE, ROOT, environment_in, http
from unpacked import unpack

PACKAGE = ROOT / "server" / "holdfast"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
TOKEN = "for-this-test-alone"  # noqa: S105 - of nobody


def command(*arguments: str | Path, where: Path, environment: dict[str, str] | None = None) -> str:
    ran = subprocess.run(
        list(map(str, arguments)), cwd=where, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE * 2, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist, made without a network."""
    folder = tmp_path_factory.mktemp("dist")
    command(sys.executable, "-m", "hatchling", "build", "-d", folder, where=ROOT)
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


def inside(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not archive.getinfo(name).is_dir()}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    source = {
        f"holdfast/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"holdfast/py.typed", "holdfast/encode/vocab.txt", "holdfast/clients/maintain.md"} <= source
    names = inside(built["wheel"])
    assert {name for name in names if ".dist-info/" not in name} == source
    assert {name.rpartition("/")[2] for name in names - source} >= {"LICENSE", "NOTICE", "entry_points.txt"}


def test_the_sdist_makes_the_same_wheel(built: dict[str, Path], tmp_path: Path) -> None:
    with tarfile.open(built["sdist"]) as archive:
        unpack(archive, tmp_path)
    (top,) = tmp_path.iterdir()
    command(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", where=top)
    assert inside(next((tmp_path / "dist").glob("*.whl"))) == inside(built["wheel"])


@pytest.mark.timeout(300)
def test_the_wheel_alone_runs_the_readmes_session(built: dict[str, Path], tmp_path: Path) -> None:
    """In an empty folder, with an empty HOME; dependencies are those of this environment, where nothing is ours."""
    place, home, folder = tmp_path / "venv", tmp_path / "home", tmp_path / "empty"
    home.mkdir()
    folder.mkdir()
    venv.create(place, symlinks=os.name != "nt")
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    command(
        sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", built["wheel"],
        where=folder,
    )  # fmt: skip
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "USERPROFILE": str(home)}
    holdfast = scripts / "holdfast"
    where = command(python, "-c", "import holdfast; print(holdfast.__file__)", where=folder, environment=environment)
    assert Path(where.strip()).is_relative_to(place)
    said = command(holdfast, "try", where=folder, environment=environment)
    assert "SQLite instead of Postgres" in said
    assert [float(found) >= 0.7 for found in re.findall(r"relevance (\d\.\d+)", said)] == [True]
    command(holdfast, "remember", "The tide table hangs in the kitchen.", where=folder, environment=environment)
    found = command(holdfast, "recall", "Where is the tide table?", "--json", where=folder, environment=environment)
    assert json.loads(found)["results"][0]["space"] == "empty"
    command(holdfast, "install", "claude-code", "--agents", where=folder, environment=environment)
    (entry,) = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"].values()
    assert entry["command"] == str(holdfast)
    assert list(folder.iterdir()) == []


def words(instruction: str) -> list[str]:
    """The list of strings of the one instruction that begins so."""
    (found,) = re.findall(rf"^ *{instruction} +(\[.*\])$", DOCKERFILE, re.MULTILINE)
    return list(json.loads(found))


def test_what_the_dockerfile_copies_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8")
    copied = [name for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()]
    assert "server" in copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}\n" in ignored


def test_the_image_serves_nobody_as_root_and_keeps_notes_in_its_volume() -> None:
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE) == ["holdfast"]
    (volume,) = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)
    assert f"HOLDFAST_HOME={volume}" in DOCKERFILE
    assert words("ENTRYPOINT") == ["holdfast"]


def test_the_images_server_starts_with_its_own_words_and_its_health_check_passes(tmp_path: Path) -> None:
    served = words(r"CMD(?= \[\"--)")
    checked = words(r"HEALTHCHECK [^\[]*CMD")
    port = served[served.index("--port") + 1]
    assert f"127.0.0.1:{port}/" in checked[-1]
    assert f"EXPOSE {port}\n" in DOCKERFILE
    tokens = json.dumps([{"token": TOKEN, "client_id": "test", "scopes": ["memory:read"]}])
    with http(
        environment_in(tmp_path) | {"HOLDFAST_AUTH_TOKENS": tokens}, "--host", served[served.index("--host") + 1]
    ) as (_, other):
        command(
            sys.executable,
            *checked[1:-1],
            checked[-1].replace(port, str(other)).replace("timeout=4", "timeout=30"),
            where=tmp_path,
        )
    refused = subprocess.run(
        [sys.executable, "-m", "holdfast", *served],
        env=environment_in(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (refused.returncode, "HOLDFAST_AUTH_TOKENS" in refused.stderr) == (2, True)
