"""A start wastes nothing, and what it leaves out for that is back before the first request."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from processes import PATIENCE

pytestmark = pytest.mark.whole_start("how a server starts")
_BEFORE_SERVING = """
import anyio, gc, json, sys

def told(*_):
    late = [name for name in ("onnxruntime", "numpy", "uvicorn", "rich.console") if name in sys.modules]
    print(json.dumps({"on": gc.isenabled(), "frozen": gc.get_freeze_count(), "late": late}))
anyio.run = told
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("arguments", [(), ("--http", "--port", "0")])
def test_garbage_is_collected_once_the_server_is_built_and_no_more_of_what_was_built(
    environment: dict[str, str], arguments: tuple[str, ...]
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _BEFORE_SERVING, *arguments], env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    told = json.loads(ran.stdout)
    assert told["on"]
    assert told["frozen"] > 10_000
    if not arguments:
        assert "onnxruntime" not in told["late"]
        assert "numpy" not in told["late"]
