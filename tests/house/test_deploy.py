"""The examples in deploy/ name what there is, and Kubernetes takes its own as it stands."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.__main__ import _parser
from holdfast.http.server import HEALTH_PATH, READY_PATH
from holdfast.settings import SETTINGS, load_settings

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text("utf-8"))
RESOURCES = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text("utf-8")))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
SCHEMAS = ROOT / "build" / "kubernetes"
VERSIONS = ("1.31", "1.34")
KNOWN = {f"HOLDFAST_{setting.key.upper()}" for setting in SETTINGS}


def resource(kind: str) -> dict[str, Any]:
    (found,) = (each for each in RESOURCES if each["kind"] == kind)
    return dict(found)


def containers() -> list[dict[str, Any]]:
    return [resource(kind)["spec"]["template"]["spec"]["containers"][0] for kind in ("Job", "Deployment")]


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_its_example(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("NO SCHEMAS OF KUBERNETES: deploy/kubernetes.yaml was not held against them; .ci/run installs them")
    monkeypatch.setattr(sys, "path", [*sys.path, str(SCHEMAS)])
    validate = importlib.import_module("kubernetes_validate").validate
    for each in RESOURCES:
        validate(each, version, strict=True)


def test_the_examples_set_what_there_is_to_set() -> None:
    named = {item["name"] for container in containers() for item in container["env"]}
    named |= {name for service in COMPOSE["services"].values() for name in service.get("environment", {})}
    assert {name for name in named if name.startswith("HOLDFAST_")} <= KNOWN
    assert {"HOLDFAST_STORE", "HOLDFAST_STATELESS", "HOLDFAST_AUTH_TOKENS"} <= named


def test_the_settings_of_the_examples_are_accepted() -> None:
    secret = resource("Secret")["stringData"]
    given = {}
    for item in containers()[1]["env"]:
        given[item["name"]] = item["value"] if "value" in item else secret[item["valueFrom"]["secretKeyRef"]["key"]]
    given["HOLDFAST_AUTH_TOKENS"] = given["HOLDFAST_AUTH_TOKENS"].replace("<sha-256 of a long random token>", "0" * 64)
    settings = load_settings(given | {"HOLDFAST_HOME": "/nowhere"})
    assert settings.stateless
    assert settings.store


def test_the_examples_run_commands_that_there_are() -> None:
    commands = [container["args"] for container in containers()]
    commands += [service["command"] for service in COMPOSE["services"].values() if "command" in service]
    assert ["--http", "--host", "0.0.0.0", "--port", "8765"] in commands  # noqa: S104 - inside of a container
    for words in commands:
        _parser().parse_args(words)


def test_probes_ask_where_there_is_an_answer() -> None:
    server = containers()[1]
    assert server["readinessProbe"]["httpGet"]["path"] == READY_PATH
    assert server["livenessProbe"]["httpGet"]["path"] == server["startupProbe"]["httpGet"]["path"] == HEALTH_PATH
    (port,) = server["ports"]
    assert f"EXPOSE {port['containerPort']}\n" in DOCKERFILE
    assert str(port["containerPort"]) in server["args"]
    assert READY_PATH in COMPOSE["services"]["memory-1"]["healthcheck"]["test"][-1]


def test_labels_and_users_of_the_examples_fit() -> None:
    deployment, labels = resource("Deployment"), {"app": "holdfast"}
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert deployment["spec"]["template"]["metadata"]["labels"] == labels
    assert resource("Service")["spec"]["selector"] == labels
    assert resource("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    user = deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert f"--uid {user} " in DOCKERFILE
    (home,) = re.findall(r"^ENV HOLDFAST_HOME=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert home in {mount["mountPath"] for mount in containers()[1]["volumeMounts"]}


def test_what_the_services_of_compose_refer_to_is_there() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        for item in service.get("configs", []):
            assert item["source"] in COMPOSE["configs"]
    nginx = COMPOSE["configs"]["nginx"]["content"]
    servers = re.findall(r"server (memory-\d):8765 ", nginx)
    assert servers == [name for name in services if name.startswith("memory-")]
    subnet = COMPOSE["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert services["memory-1"]["environment"]["HOLDFAST_TRUSTED_PROXIES"] == subnet


def test_the_proxy_of_compose_says_what_the_tried_one_says() -> None:
    told = (ROOT / "docs/fleet.md").read_text("utf-8")
    for line in re.findall(r"^ +(proxy_[^;]+);", COMPOSE["configs"]["nginx"]["content"], re.MULTILINE):
        assert f"        {line.replace('$$', '$')};" in told, line


def test_the_image_of_the_examples_is_one_that_the_dockerfile_makes() -> None:
    (lines,) = re.findall(r"^#   (docker build .*-t holdfast-fleet:1 .*)$", DOCKERFILE, re.MULTILINE)
    words = shlex.split(lines)
    assert f"FROM base AS {words[words.index('--target') + 1]}\n" in DOCKERFILE
    name, _, extra = words[words.index("--build-arg") + 1].partition("=")
    assert f"ARG {name}=\n" in DOCKERFILE
    assert (ROOT / f"requirements-{extra}.txt").is_file()
    ours = [service for name, service in COMPOSE["services"].items() if name not in {"db", "proxy"}]
    assert {each["image"] for each in (*containers(), *ours)} == {"holdfast-fleet:1"}
