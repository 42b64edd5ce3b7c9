"""A field of a note that a table declares comes with an import and survives merge, undo, export and a new index."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from moves import Mover, moving, write

pytestmark = pytest.mark.anyio

ADR = "https://example.org/adr/7"
CLIPPED = "https://example.org/cranes?page=2"


def vault(root: Path) -> Path:
    texts = {
        "adr.md": f"---\nsource_url: {ADR}\nsubject: crane\n---\nThe crane lifts forty tonnes.",
        "clip.md": f"---\nsource: {CLIPPED}\n---\nThe ferry leaves at noon.",
        "odd.md": "---\nsource_url: on my desk\nurl: none\n---\nThe lock opens at dawn.",
        "bare.md": "The tug is red.",
    }
    write(root, texts)
    return root


async def test_an_import_finds_the_address_of_a_note_under_the_names_that_others_use(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with moving(tmp_path / "home", era) as mover:
        await mover.bring(vault(tmp_path / "vault"))
        nodes = {name: await mover.node(name) for name in ("crane lifts", "ferry leaves", "lock opens", "tug is red")}
        assert [node["source_url"] for node in nodes.values()] == [ADR, CLIPPED, None, None]
        assert f'source_url: "{ADR}"' in mover.text_of(nodes["crane lifts"])
        kept = mover.text_of(nodes["lock opens"])  # what is no address is kept as it was
        assert '"source_url": "on my desk"' in kept
        assert "imported_keys" not in mover.text_of(nodes["crane lifts"])


async def merged(mover: Mover) -> tuple[dict[str, object], str]:
    """The tug's note with the crane's in it, and the change that did it."""
    keep, discard = [(await mover.node(name))["id"] for name in ("tug is red", "crane lifts")]
    verdict = {"keep_id": keep, "discard_id": discard, "merged_content": "The tug is red, the crane lifts."}
    [outcome] = (await mover.call("run_maintenance", results={"merges": [verdict]}))["outcomes"]
    assert outcome["status"] == "applied", outcome
    return await mover.call("recall_node", node_id=keep), outcome["change_id"]


async def test_it_survives_a_merge_its_undo_and_an_index_that_is_made_anew(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with moving(tmp_path / "home", era) as mover:
        await mover.bring(vault(tmp_path / "vault"))
        whole, change = await merged(mover)
        assert (whole["source_url"], whole["subject"]) == (ADR, "crane")
        await mover.call("admin_undo", change_id=change)
        assert (await mover.node("tug is red"))["source_url"] is None
        assert (await mover.node("crane lifts"))["source_url"] == ADR
    shutil.rmtree(tmp_path / "home" / ".holdfast")
    async with moving(tmp_path / "home", era) as mover:
        assert (await mover.node("crane lifts"))["source_url"] == ADR


async def test_it_survives_an_edit_and_an_export_that_is_imported_elsewhere(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with moving(tmp_path / "home", era) as mover:
        await mover.bring(vault(tmp_path / "vault"))
        ferry = await mover.node("ferry leaves")
        await mover.call("admin_update_memory", node_id=ferry["id"], content="The ferry leaves at one.")
        exported = await mover.call("admin_export")
    async with moving(tmp_path / "other", era) as mover:
        await mover.bring(tmp_path / "home" / "exports" / Path(exported["path"]).name)
        assert (await mover.node("ferry leaves"))["source_url"] == CLIPPED
