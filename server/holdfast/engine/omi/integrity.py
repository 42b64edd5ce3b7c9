"""integrity_check: whether files are as they were left, and whether the graph looks natural. It writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal, get_args

import structlog

from holdfast.engine.omi.now import today
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, MemoryNotFoundError, StorageError
from holdfast.index.queries import Hub
from holdfast.index.view import IndexView
from holdfast.model.lifecycle import CORE_LINKS, CORE_USES, MOST_ORPHANS, edited_confidence, evidence_problem, is_sudden
from holdfast.model.records import (
    ACCEPT_INTEGRITY,
    DAILY,
    MEMORY,
    NOW,
    NOW_FOLDER,
    PAGES_SEEN,
    THEN,
    Baseline,
    FileChange,
    JournalRecord,
    baselines,
    day_of,
    is_page,
    is_watched,
    marks_of,
    page_key,
)
from holdfast.model.tokens import beginning
from holdfast.model.versions import AUTO_REASONS
from holdfast.model.words import counted
from holdfast.store.codec import content_hash
from holdfast.store.stored import Page, Stored

Scope = Literal["now", "daily", "graph", "all"]

UNLOCKED_LOOKS = 2  # at a page that differs, before its lock is taken
HELD_LOOKS = 10  # a page that others change at each of them is looked at by the next check
MOST_NAMED = 50  # orphans, and cores, whose ids are told
MOST_TOLD, PROBLEM_TOKENS = 3, 80  # of each kind in the summary, and of one problem there
ALONE = "it has no link to any other note"
SUDDEN = f"{CORE_LINKS} or more links to it were made within a day"
GROWN = f"{SUDDEN}, all of them with the tools"
UNUSUAL = (ALONE, SUDDEN, GROWN)
EMPTIED = "its file is empty; history/ has its last text"
ADDED = "something was added to its end outside of the tools"
_ACCEPT = "Where the user meant it: holdfast doctor --accept, or admin_accept_integrity; until then it is told."
_FILED = "All with the tools, as where notes are filed under one; what has helped on three days is told no more."
OWN_OPS = ("belief_update", "link", "merge", "consolidate", "outdate_by_verdict")  # their links are no sign of haste
LOG_OPS = ("now_update", "daily_append")  # they write to logs
MOVING_OPS = ("import",)  # they bring notes with the links that these had elsewhere

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it should be: a page's path or a note's id, and what is wrong with it."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Topology:
    """How the graph looks. `warnings` are the ids of orphans, then of sudden cores, the first of each."""

    orphan_nodes: int
    sudden_cores: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """What was looked at and what was found."""

    now_md: bool
    memory_md: bool
    topology: Topology
    overall_safe: bool
    checked: tuple[str, ...]
    problems: tuple[Problem, ...]
    sound: bool = True  # notes, evidence and index are as they were written
    edited: tuple[Problem, ...] = ()  # those of the problems that are beliefs whose confidence a person set
    by_tools: bool = False  # the links of all sudden cores were made by tools

    def shape(self) -> dict[str, Any]:
        """The four keys that OMI's reference documents, and `details`."""
        topology = {**asdict(self.topology), "warnings": list(self.topology.warnings)}
        problems = [asdict(problem) for problem in self.problems]
        return {
            "now_md": self.now_md,
            "memory_md": self.memory_md,
            "topology": topology,
            "overall_safe": self.overall_safe,
            "details": {"checked": list(self.checked), "problems": problems, "summary": self.summary},
        }

    @property
    def summary(self) -> str:
        """What to tell the user."""
        if self.overall_safe and not self.problems:
            return "Safe."
        if self.overall_safe:
            return " ".join(["Safe, with something to look at:", *_told(sorted(self.problems, key=_is_alone))])
        pages = self._pages()
        happened = " ".join([*self._others(), *pages, *self._links()])
        if self._is_broken:
            return f"Not safe. {happened} Nothing was repaired; let the user look at it."
        if pages:
            return f"To confirm: {happened} Nothing was changed. {_ACCEPT}"
        if self.by_tools and self.topology.orphan_nodes <= MOST_ORPHANS:
            return f"To look at: {happened}"
        return f"To confirm: {happened} Nothing was changed; ask the user whether it was meant."

    @property
    def _is_broken(self) -> bool:
        """Whether something differs that only the tools write: a log but for its end, a note, evidence, the index."""
        return not self.sound or any(_is_tampering(at) for at in self.problems)

    def _pages(self) -> list[str]:
        """A sentence for each page that was changed; logs are the tools', the others the user's to edit."""
        return [f"{problem.where}: {problem.what}." for problem in self.problems if is_watched(problem.where)]

    def _links(self) -> list[str]:
        """What is unusual about the links, in sentences."""
        cores, orphans = self.topology.sudden_cores, self.topology.orphan_nodes
        ids = _first(self.topology.warnings[min(orphans, MOST_NAMED) :], cores, ", ")
        warnings = [f"{counted(cores, 'note')} got {CORE_LINKS} or more links within a day: {ids}."] if cores else []
        warnings += [_FILED] if cores and self.by_tools else []
        return [*warnings, f"{counted(orphans, 'note')} have no link."] if orphans > MOST_ORPHANS else warnings

    def _others(self) -> list[str]:
        """What else was found, in a sentence."""
        linked = [at for at in self.problems if at.what in UNUSUAL]
        return _told([at for at in self.problems if at not in linked and not is_watched(at.where)])


def _is_tampering(problem: Problem) -> bool:
    """Whether a page was changed that is the tools', otherwise than by a line more."""
    return is_watched(problem.where) and not _is_users(problem.where) and problem.what != ADDED


def _is_alone(problem: Problem) -> bool:
    """Whether a note has no link, and that is all: that is told last."""
    return problem.what == ALONE


def _told(problems: Sequence[Problem]) -> list[str]:
    """The first of some problems, in a sentence."""
    lines = [beginning(f"{at.where}: {at.what}".rstrip("."), PROBLEM_TOKENS) for at in problems]
    return [f"{_first(lines, len(lines), '; ')}."] if lines else []


def _first(texts: Sequence[str], count: int, between: str) -> str:
    """The first of `count` texts, and how many more there are."""
    shown = texts[:MOST_TOLD]
    return between.join(shown) + (f" and {count - len(shown):,} more" if count > len(shown) else "")


@dataclass(frozen=True, slots=True)
class _Graph:
    topology: Topology = Topology(0, 0, ())
    sound: bool = True
    damaged: tuple[Problem, ...] = ()
    unusual: tuple[Problem, ...] = ()
    edited: tuple[Problem, ...] = ()
    by_tools: bool = False


async def integrity_check(ports: Ports, scope: str = "all") -> IntegrityReport:
    """Look at the NOW files, MEMORY.md and the logs, whatever the scope; at the graph where that names it.

    Damage is told first, then what a person may do, then what is only unusual.

    Raises:
        InvalidArgumentError: there is no such scope.
        StorageError: the folder cannot be read.
    """
    if scope not in get_args(Scope):
        raise InvalidArgumentError("scope is unknown.", f"Use one of {', '.join(get_args(Scope))}.")
    changed = await changed_pages(ports)
    now_md = not any(_is_now(problem.where) for problem in changed)
    memory_md = all(_is_now(problem.where) for problem in changed)
    checked = ["NOW files", "MEMORY.md", "daily logs"]
    graph = _Graph()
    if scope in ("graph", "all"):
        checked += ["links", "content hashes", "evidence", "index"]
        graph = await _graph(ports)
    topology = graph.topology
    natural = topology.orphan_nodes <= MOST_ORPHANS and topology.sudden_cores == 0
    safe = now_md and memory_md and natural and graph.sound
    unwritable = (Problem("the memory folder", ports.reading_notice),) if ports.reading_notice else ()
    pages = sorted(changed, key=lambda problem: not _is_tampering(problem))
    problems = (*unwritable, *graph.damaged, *pages, *graph.edited, *graph.unusual)
    found = (now_md, memory_md, topology, safe, tuple(checked), problems)
    return IntegrityReport(*found, graph.sound, graph.edited, graph.by_tools)


async def accept_integrity(ports: Ports, caller: Caller, paths: Collection[str] = ()) -> tuple[str, ...]:
    """Take pages as they are now for right; all that were reported, unless some are named. Returns which.

    Raises:
        MemoryNotFoundError: a named path is no page's.
        StorageError: a page cannot be read, or the journal cannot be written; nothing was accepted.
    """
    if not all(is_page(path) for path in paths):
        raise MemoryNotFoundError("There is no such page.", "integrity_check names those that were changed.")
    wanted = list(dict.fromkeys(paths)) or [problem.where for problem in await changed_pages(ports)]
    if not wanted:
        return ()
    async with ports.store.hold({page_key(path) for path in wanted}):
        pages = await ports.store.pages(wanted)
        marks = {
            path: Baseline(pages[path].hash, len(pages[path].data)) if path in pages else Baseline(None)
            for path in wanted
        }
        line = JournalRecord(
            ACCEPT_INTEGRITY,
            by=caller.principal,
            source=caller.source,
            admin="admin_accept_integrity",
            accepted=marks_of(marks),
        )
        await ports.store.record(line, flush=True)
    for path in wanted:
        ports.first_seen.pop(path, None)
    return tuple(wanted)


async def record_first_seen(ports: Ports) -> None:
    """When a server starts: trust MEMORY.md and the logs of past days as they are, where nothing is known of them."""
    known = (await known_pages(ports)).pages
    last = today(ports)
    paths = [path for path in (MEMORY, *await ports.store.list_pages(DAILY)) if _is_closed(path, last)]
    await _see(ports, [path for path in paths if path not in known])
    seen = {path: mark for path, mark in ports.first_seen.items() if path not in known}
    if seen:
        await ports.store.record(JournalRecord(PAGES_SEEN, seen=marks_of(seen)))
    ports.first_seen.clear()


@dataclass(frozen=True, slots=True)
class KnownPages:
    """How pages are to look, as the journal tells up to a place."""

    place: str
    pages: Mapping[str, Baseline]


async def known_pages(ports: Ports) -> KnownPages:
    """How all pages are to look. Only what the index does not know yet is read, and without a lock."""
    known = await ports.index.read(lambda view: view.known_journal())
    read = await ports.store.page_records(known.place) if known.place else None
    if read is not None:
        void = JournalRecord(void=tuple(known.void))  # what is told of a change before its end is told again
        lines = [line for line in read[0] if line.seq > known.pages_seq]
        return KnownPages(read[1], baselines([void, *lines], known.pages))
    read = await ports.store.page_records("")  # the journal is not the one that the index knows
    if read is None:
        raise StorageError("The journal is being replaced.", "Call again in a moment.")
    return KnownPages(read[1], baselines(read[0]))


async def _known_anew(ports: Ports, known: KnownPages) -> KnownPages:
    """`known`, brought up to date with the lines that the journal got since."""
    read = await ports.store.page_records(known.place)
    if read is None or any(line.void for line in read[0]):
        return await known_pages(ports)
    return KnownPages(read[1], baselines(read[0], known.pages))


async def first_look(ports: Ports) -> None:
    """Remember how MEMORY.md looked when the folder was opened."""
    try:
        await _see(ports, [MEMORY])
    except StorageError as error:  # it is told when somebody asks
        log.info("memory_md_not_read", reason=str(error))


async def _see(ports: Ports, paths: Iterable[str]) -> None:
    for path, mark in (await ports.store.page_marks(list(paths))).items():
        if mark[0]:
            ports.first_seen.setdefault(path, Baseline(*mark))


async def changed_pages(ports: Ports) -> tuple[Problem, ...]:
    """The pages that were changed outside of the tools, and what was done to them.

    What differs at first sight may be a change of ours: it is looked at again without a lock, and then under its own,
    for which only a page that really differs has others wait. Only what is new in the journal is read then.
    """
    known = await known_pages(ports)
    listed = {NOW, MEMORY, *await ports.store.list_pages(NOW_FOLDER), *await ports.store.list_pages(DAILY)}
    differing = await _differing(ports, known, listed | known.pages.keys() | ports.first_seen.keys())
    for _ in range(UNLOCKED_LOOKS):
        if not differing:
            return ()
        known = await _known_anew(ports, known)
        differing = await _differing(ports, known, differing)
    if not differing:
        return ()
    async with ports.store.hold({page_key(path) for path in differing}):
        found = await _surely_differing(ports, known, differing)
        return tuple([Problem(path, await _how(ports, path, found[path])) for path in sorted(found)])


async def _surely_differing(ports: Ports, known: KnownPages, paths: Collection[str]) -> dict[str, Baseline]:
    """As `_differing`, without pages that another server changed after the journal was read and before they were.

    Of a folder whoever holds a page has all others wait; of a database only those in the same process.
    """
    found: dict[str, Baseline] = {}
    for _ in range(HELD_LOOKS):
        if not paths:
            break
        known = await _known_anew(ports, known)
        differing = await _differing(ports, known, paths)
        since = await _known_anew(ports, known) if differing else known
        paths = [path for path in differing if since.pages.get(path) != known.pages.get(path)]
        found |= {path: base for path, base in differing.items() if base.foreign or path not in paths}
        known = since
    return found


async def _differing(ports: Ports, known: KnownPages, paths: Collection[str]) -> dict[str, Baseline]:
    """Of these pages the ones that differ from their baselines, with the baselines."""
    marks = await ports.store.page_marks(sorted(paths))
    last = today(ports)
    for path, mark in marks.items():
        if path not in known.pages and _is_closed(path, last) and mark[0]:
            ports.first_seen.setdefault(path, Baseline(*mark))
    expected = {path: base for path, base in {**ports.first_seen, **known.pages}.items() if path in paths}
    hashes: dict[str, str | None] = {path: mark[0] for path, mark in marks.items()}
    changing = ports.store.pages_in_change()
    return {
        path: base
        for path, base in expected.items()
        if base.foreign
        or (hashes.get(path) != base.hash and not _is_changing(changing.get(path), base, hashes.get(path)))
    }


def _is_changing(plan: FileChange | None, base: Baseline, there: str | None) -> bool:
    """Whether a page is as it was or will be, of a change of ours that goes on from its baseline or leads to it."""
    return plan is not None and base.hash in (plan.before, plan.after) and there in (plan.before, plan.after)


async def _how(ports: Ports, path: str, base: Baseline) -> str:
    """What was done to a page, in words that do not blame whose page it is."""
    try:
        page = (await ports.store.pages([path])).get(path)
    except StorageError:
        return "it cannot be read"
    if base.foreign and page and not _is_users(path) and await _has_all(ports, path, page):
        return ADDED
    said = []
    if base.foreign:
        last = base.foreign.split(THEN)[-1]
        goes_on = "began it anew" if last in ("deleted", "emptied") else "went on from that"
        said = [f"it was {base.foreign} outside of the tools{_whose(path)}; their next update {goes_on}"]
    if (page.hash if page else None) != base.hash:
        said.append(f"{_what(page, base)}{_whose(path)}")
    return "; since then ".join(said)


async def _has_all(ports: Ports, path: str, page: Page) -> bool:
    """Whether a log has all that the tools left in it, as they left it: others have only added to it."""
    records = await ports.store.past.records(LOG_OPS)
    left = [(file.size, file.after) for record in records for file in record.files if file.path == path]
    return bool(left) and all(size is not None and content_hash(page.data[:size]) == after for size, after in left)


def _what(page: Page | None, base: Baseline) -> str:
    if page is None:
        return "it was deleted"
    if base.hash is None:
        return "it was made outside of the tools"
    if not page.data.strip():
        return "it was emptied outside of the tools"
    if base.size is not None and content_hash(page.data[: base.size]) == base.hash:
        return ADDED
    return "it was edited outside of the tools"


def _whose(path: str) -> str:
    """Who may edit a page beside the tools; nobody a log."""
    if _is_now(path):
        return ", as the user may"
    return "; it is the user's own" if path == MEMORY else ""


async def _graph(ports: Ports) -> _Graph:
    def look(
        view: IndexView,
    ) -> tuple[int, list[str], list[Hub], dict[str, str], list[tuple[str, str, str]], list[str], list[str], bool]:
        hubs = view.hubs(CORE_LINKS, CORE_USES, AUTO_REASONS, OWN_OPS, MOVING_OPS)
        merged = view.aliases([source for hub in hubs for source, _ in hub.links])
        return (
            *view.orphans(MOST_NAMED),
            hubs,
            merged,
            view.hashes(),
            view.emptied(MOST_NAMED),
            view.beliefs(),
            view.is_sound(),
        )

    orphans, named, hubs, merged, hashes, blank, beliefs, sound = await ports.index.read(look)
    quarantined = (await ports.index.problems())[:MOST_NAMED]
    evidence = await _evidence(ports, {*beliefs, *(hub.path for hub in hubs if hub.type == "belief")})
    cores = {hub.id: hub.by_tools for hub in hubs if is_sudden(_asked_for(hub, evidence, merged))}
    first = list(cores)[:MOST_NAMED]
    unusual = [Problem(note, GROWN if cores[note] else SUDDEN) for note in first]
    unusual += [Problem(note, ALONE) for note in named]
    broken = await _broken_files(ports, hashes)
    wrong = [Problem(end, what) for end, item in evidence.items() if (what := evidence_problem(item.note.evidence))]
    broken += wrong
    edited = _edited(evidence, {problem.where for problem in wrong})
    unread = [Problem(f"memories/{path}", EMPTIED) for path in blank]
    unread += [Problem(f"memories/{path}", f"it is quarantined: {reason}") for path, reason in quarantined]
    if not sound:
        broken.append(Problem("index", "SQLite finds it damaged; delete .holdfast/ and it is rebuilt"))
    topology = Topology(orphans, len(cores), (*named, *first))
    by_tools = bool(cores) and all(cores.values())
    return _Graph(topology, not broken, (*broken, *unread), tuple(unusual), edited, by_tools)


def _edited(beliefs: Mapping[str, Stored], wrong: Collection[str]) -> tuple[Problem, ...]:
    """Beliefs whose confidence a person set, of those whose evidence can be followed: theirs to set, and no damage."""
    said = {end: edited_confidence(item.note.evidence, item.note.confidence) for end, item in beliefs.items()}
    goes_on = "the next belief_update goes on from there"
    found = [Problem(end, f"{what}; {goes_on}") for end, what in said.items() if what and end not in wrong]
    return tuple(found[:MOST_NAMED])


def _asked_for(hub: Hub, evidence: Mapping[str, Stored], merged: Mapping[str, str]) -> list[str]:
    """When the links were made that are no evidence of a belief, nor of a note that this was merged into."""
    stored = evidence.get(hub.id)
    cited = {entry.get("memory_id") for entry in stored.note.evidence} if stored else set()
    cited |= {note for alias, note in merged.items() if alias in cited}
    return [at for source, at in hub.links if source not in cited]


async def _evidence(ports: Ports, paths: Collection[str]) -> dict[str, Stored]:
    """The beliefs as their files tell them, by id."""
    found = await ports.store.load(sorted(paths), {})
    return {item.note.id: item for item in found if isinstance(item, Stored)}


async def _broken_files(ports: Ports, known: Collection[tuple[str, str, str]]) -> list[Problem]:
    """Notes whose files differ from what the index read, although nothing says that they were touched since."""
    found = await ports.store.note_hashes([path for _, path, _ in known])
    other = {path: note for note, path, expected in known if found.get(path) != expected}
    if not other:
        return []
    rows = await ports.index.files(other)
    marks = await ports.store.marks(other)  # what was touched since is news for the next request
    return [
        Problem(note, "its file is not what was read before, although its time and size are the same")
        for path, note in sorted(other.items())
        if path in rows and marks.get(path) == rows[path].mark
    ]


def _is_now(path: str) -> bool:
    return path == NOW or path.startswith(f"{NOW_FOLDER}/")


def _is_users(path: str) -> bool:
    """Whether a page is the user's to edit: NOW files and MEMORY.md; logs are the tools'."""
    return _is_now(path) or path == MEMORY


def _is_closed(path: str, last: date) -> bool:
    """Whether a page is trusted as it was first seen: MEMORY.md, and the logs of days that are over."""
    day = day_of(path)
    return path == MEMORY or (day is not None and day < last)


async def look_over(ports: Ports) -> None:
    """When a server starts: tell the log of pages changed outside of the tools. The graph is looked at when asked."""
    changed = await changed_pages(ports)
    if changed:
        log.warning("pages_changed_by_others", problems=[f"{item.where}: {item.what}" for item in changed])
