"""Power cuts at every step of the write path, and after kills: what was flushed stays, and no change is halved."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from conftest import Effort
from disks import Disk, Failing, Found, KilledError, Recorded, lay_out, one_by_one, seeded, without_exchange
from holdfast.errors import HoldfastError, StorageError
from holdfast.model.note import Note
from holdfast.store.journal import read_line
from plans import (
    NEW_D,
    OLD,
    PLANS,
    Plan,
    after,
    assert_old_texts_are_kept,
    carry_out,
    let_go,
    load_all,
    make_template,
    note,
    notes_after_restart,
    opened,
    plans,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600), pytest.mark.usefixtures("no_waiting_for_the_disk")]


SAMPLE = 5

Images = Mapping[tuple[bool, Found], str]


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    home = tmp_path / "template"
    await make_template(home)
    return home


class Cuts:
    """Looks what is found after the power cuts that were noted."""

    def __init__(self, parent: Path, template: Path, tally: Counter[str]) -> None:
        self.parent = parent
        self.template = template
        self.tally = tally
        self._number = 0

    def fresh(self) -> Path:
        self._number += 1
        return self.parent / f"cut-{self._number}"

    async def check(
        self,
        images: Images,
        may_be: Sequence[dict[str, Note]],
        acknowledged: dict[str, Note],
    ) -> None:
        for (answered, state), moment in images.items():
            home = self.fresh()
            lay_out(state, home)
            found = await notes_after_restart(home)
            assert found in ([acknowledged] if answered else [*may_be, acknowledged]), moment
            self.assert_old_texts_are_kept(home, found)
            assert list((home / "trash" / "conflicts").iterdir()) == [], moment
            shutil.rmtree(home)
            self.tally["power cuts simulated"] += 1

    def assert_old_texts_are_kept(self, home: Path, found: dict[str, Note]) -> None:
        changed = {name: None for name, old in OLD.items() if found.get(name) != old}
        assert_old_texts_are_kept(home, self.template, changed)


@pytest.fixture
def cuts(template: Path, tmp_path: Path, tally: Counter[str]) -> Cuts:
    before = tmp_path / "before"
    shutil.copytree(template, before)
    return Cuts(tmp_path, before, tally)


@contextmanager
def recording(
    home: Path, kept: Path, seed: int, most: int, *, backwards: bool = False, dies_at: int | None = None
) -> Iterator[Recorded]:
    files = Recorded(Disk(home, kept), seeded(seed), most, dies_at)
    with files.mounted(), patch("holdfast.store.writer.together", one_by_one(backwards=backwards)):
        yield files


async def carried_out_by_another(home: Path, files: Recorded, plan: Plan, *, refused: bool = False) -> None:
    """A process makes the change, or has it refused by the index and takes it back, as far as it lives."""

    async def refuse() -> None:
        raise StorageError("The index is full.")

    store = opened(home, files)
    await store.open()
    files.recording = True
    try:
        await carry_out(store, plan, refuse if refused else None)
    except KilledError:
        assert files.dead
    except StorageError:
        assert refused
    let_go(store)


def only_notes(plan: Plan) -> dict[str, Note]:
    return {name: made for name, made in plan.items() if made is not None}


@plans
@pytest.mark.parametrize("exchange", ["exchanged", "linked"])
@pytest.mark.parametrize("order", ["forwards", "backwards"])
async def test_a_power_cut_at_any_step_leaves_all_old_or_all_new_and_keeps_what_was_acknowledged(
    plan: Plan, order: str, exchange: str, template: Path, cuts: Cuts, effort: Effort
) -> None:
    for seed in range(effort.of(1, 20)):
        home = cuts.fresh()
        shutil.copytree(template, home)
        with (
            recording(home, cuts.fresh(), seed, effort.of(4, 40), backwards=order == "backwards") as files,
            without_exchange() if exchange == "linked" else nullcontext(),
        ):
            store = opened(home, files)
            await store.open()
            files.recording = True
            await carry_out(store, plan)
            files.acknowledged = True
            files.take("the next request")
            await store.aclose()
            files.take("the end")
        assert len(files.images) > 6
        await cuts.check(files.images, [OLD], after(plan))


async def test_a_power_cut_while_a_memory_begins_leaves_all_of_its_first_notes_or_none(
    tmp_path: Path, cuts: Cuts, effort: Effort
) -> None:
    """Every folder, and the month's journal, is new then."""
    plan = {"d": NEW_D, "e": note("e", "another new note", "elsewhere")}
    home = tmp_path / "begun"
    home.mkdir()
    with recording(home, cuts.fresh(), 0, effort.of(4, 40)) as files:
        store = opened(home, files)
        files.recording = True
        await store.open()
        await carry_out(store, dict(plan))
        files.acknowledged = True
        files.take("the next request")
        await store.aclose()
    for (answered, state), moment in files.images.items():
        left = cuts.fresh()
        lay_out(state, left)
        assert await notes_after_restart(left) in ([plan] if answered else [{}, plan]), moment
        shutil.rmtree(left)
        cuts.tally["power cuts simulated"] += 1


LATER: Plan = {"e": note("e", "the next note", "elsewhere"), "a": replace(OLD["a"], content="the third text of a")}


@pytest.mark.parametrize(
    ("what", "refused"),
    [
        ("a new note", False),
        ("a rewrite", False),
        ("a new note, a rewrite and a deletion", False),
        ("a new note, a rewrite and a deletion", True),
    ],
)
async def test_a_power_cut_after_a_kill_loses_nothing_that_the_next_process_settled_or_acknowledged(
    what: str, refused: bool, template: Path, cuts: Cuts, effort: Effort
) -> None:
    outcomes = [OLD, after(PLANS[what])]
    for number in range(0, 1000, effort.of(2, 1)):
        home = cuts.fresh()
        shutil.copytree(template, home)
        with recording(home, cuts.fresh(), number, 0, dies_at=number) as dying:
            await carried_out_by_another(home, dying, PLANS[what], refused=refused)
        heir = Recorded(dying.disk, seeded(number), effort.of(2, 12))
        with heir.mounted(), patch("holdfast.store.writer.together", one_by_one(backwards=number % 2 == 0)):
            store = opened(home, heir)
            heir.recording = True
            await store.open()
            heir.take("the first request")
            settled = {name: item.note for name, item in (await load_all(store)).items()}
            await carry_out(store, LATER)
            heir.acknowledged = True
            heir.take("the end")
            await store.aclose()
        assert settled in [OLD, after(PLANS[what])], number
        may_be = [*outcomes, settled, *(found | only_notes(LATER) for found in outcomes)]
        await cuts.check(sample(heir.images, effort.of(SAMPLE, 10**6), number), may_be, settled | only_notes(LATER))
        shutil.rmtree(home)
        if not dying.dead:
            assert number > 10
            return


def sample(images: Images, most: int, seed: int) -> Images:
    """Some of the moments, always with those after the answer."""
    answered = {key: moment for key, moment in images.items() if key[0]}
    others = [key for key in images if not key[0]]
    chosen = seeded(seed).sample(others, min(most, len(others)))
    return {key: images[key] for key in chosen} | answered


@plans
async def test_a_power_cut_while_an_earlier_one_is_settled_changes_nothing_of_what_comes_out(
    plan: Plan, template: Path, cuts: Cuts, effort: Effort
) -> None:
    home = cuts.fresh()
    shutil.copytree(template, home)
    with recording(home, cuts.fresh(), 1, 4) as files:
        await carried_out_by_another(home, files, plan)
    for _, state in sample(files.images, effort.of(SAMPLE, 400), 1):
        home, again = cuts.fresh(), cuts.fresh()
        lay_out(state, home)
        shutil.copytree(home, again)
        outcome = await notes_after_restart(again)
        with recording(home, cuts.fresh(), 2, effort.of(2, 12)) as files:
            store = opened(home, files)
            files.recording = True
            await store.open()
            files.take("the first request")
            await store.aclose()
        await cuts.check(sample(files.images, effort.of(2 * SAMPLE, 10**6), 2), [], outcome)


@pytest.mark.parametrize("moment", ["announced", "whole"])
@pytest.mark.parametrize("hole", [0, 5], ids=["torn", "with a hole"])
async def test_a_journal_that_is_torn_at_any_byte_is_mended_and_written_on(
    hole: int, moment: str, template: Path, cuts: Cuts, effort: Effort
) -> None:
    """Before the answer the line that announces is torn; after it the one that says that the change is whole."""
    plan = PLANS["three notes rewritten"]
    journal = next((template / "journal").iterdir()).relative_to(template)
    whole = (template / journal).read_bytes()
    files = Failing(0, stays=True, steps=("swap",), torn=False)
    store = opened(template, files)
    await store.open()
    if moment == "announced":
        files.armed = True
        with pytest.raises(HoldfastError):
            await carry_out(store, plan)
        expected = OLD
    else:
        await carry_out(store, plan)
        whole = (template / journal).read_bytes()
        await store.aclose()
        expected = after(plan)
    let_go(store)
    end = len((template / journal).read_bytes())
    assert end > len(whole) + 20
    for cut in range(len(whole), end + 1, effort.of(31, 1)):
        home = cuts.fresh()
        shutil.copytree(template, home)
        data = (home / journal).read_bytes()[:cut]
        kept = max(len(whole), cut - hole)
        (home / journal).write_bytes(data[:kept] + bytes(cut - kept))
        assert await notes_after_restart(home) == expected, cut
        store = opened(home)
        await store.open()
        await carry_out(store, LATER)
        await store.aclose()
        assert await notes_after_restart(home) == expected | only_notes(LATER), cut
        lines = (home / journal).read_bytes().splitlines()
        assert None not in [read_line(line) for line in lines], cut
        cuts.tally["power cuts simulated"] += 1
        shutil.rmtree(home)
