"""Whether a question finds the note that holds its rare word, however long the note is and whatever else is asked.

    python bench/identifiers.py [--half A|B] [--sizes 5,24,200,10000] [--encoders none,builtin] [--seed 7] [--json OUT]
    python bench/identifiers.py --words [--half A|B] [--sizes 24,200,2000] ...

Notes are put together from DevMem's sentences; one in each store in turn holds an identifier or another word that
stands nowhere else: 0.2 to 50 kB long, the word at its beginning, middle or end. It is asked for bare, in other
spellings and in conversation. The halves have other shapes of words: what is tuned on A is reported on B. A row tells
how many questions have their note first, and as a strong hit, and how many meet silence. Beside it stands the other
side: questions about nothing stored, plain ones and ones that hold a rare word of some note by accident.

With `--words` the rare word is one of a dictionary, as in "who brought marzipan to the meeting?": a sentence of
`data/rare_words_a.txt` (or b) stands once in a note of 0.2 to 10 kB among sentences of other data, and is asked for in
three ways, and by one of some frames. "By accident" are questions with that word about something else. Each line there
is a word, its sentence, three questions and two accidents, in four languages; every store holds at most half as many of
them as it has notes.

The vectors of stores over 1,000 notes are those of 500 notes, used again and again: encoding takes long.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.index.projection import MadeVectors, NoteRow, Update, text_to_encode
from holdfast.index.rows import FileRow
from holdfast.model.note import Note, note_id, title_of
from holdfast.model.words import folded
from holdfast.running import configure_logs
from holdfast.settings import load_settings

DATA = Path(__file__).parent / "data"
DEVMEM = DATA / "devmem.json"
CALLER = Caller(None, "bench", "bench")
START_MS = 1_790_000_000_000
STEM = 6  # letters of a rare word that no other sentence has
LENGTHS = (200, 1_000, 3_000, 10_000, 50_000)
WORD_LENGTHS = (200, 1_000, 3_000, 10_000)
AROUND_WORDS = ("devmem", "unsaid", "theatre_and_weather")
ENCODED = 500
FRAMES = (
    "{}",
    "what about {}?",
    "{} rest",
    "what happened with {}?",
    "do you remember what {} was about",
    "can you tell me how we dealt with {} in the end, before I talk to the customer?",
)
FOREIGN_FRAMES = {
    "cyrillic": ("{}", "что с {}?", "что случилось с {}"),
    "chinese": ("{}", "{}怎么样了？", "what about {}?"),
}
WORD_FRAMES = {
    "A": {
        "en": (
            "before I call them back: what did we write down about the {}?",
            "my colleague asks whether we had any trouble with the {} this year",
            "I am preparing the weekly meeting, is there anything on the {} that I should mention?",
            "what did the message say where somebody complained or asked about the {}?",
        ),
        "de": ("bevor ich morgen dort anrufe: was hatten wir zu {} aufgeschrieben?", "gab es Ärger wegen {}?"),
        "fr": ("avant que je les rappelle demain : qu'avions-nous écrit sur {} ?", "un souci à propos de {} ?"),
        "es": ("antes de que los llame mañana: ¿qué apuntamos sobre {}?", "¿hubo algún problema con {}?"),
    },
    "B": {
        "en": (
            "a visitor wants to know how things stand with the {}, what can I tell her?",
            "where did we leave off with the {} before the summer holidays?",
            "didn't somebody have to take care of the {}, and who was that?",
            "I need the details on the {} for my report to the landlord",
        ),
        "de": ("eine Besucherin fragt nach {}, was kann ich ihr sagen?", "wie war die Abmachung mit {}?"),
        "fr": ("une visiteuse demande où en est {}, que lui répondre ?", "quel était l'accord pour {} ?"),
        "es": ("una visita pregunta por {}, ¿qué le digo?", "¿en qué quedó el acuerdo sobre {}?"),
    },
}
NOTHING = (
    "what is 2+2?", "ok thanks", "what's next?", "now do the same for the other two", "how do I cook risotto?",
    "who won the football match yesterday?", "write a poem about autumn", "translate this sentence into French",
    "which planet is the largest?", "how tall is the Eiffel tower?", "what should I wear to a wedding in May?",
    "recommend a novel by a Norwegian author", "how long do I boil an egg?", "what is the capital of Mongolia?",
    "is it going to rain on Sunday?", "how do I get red wine out of a carpet?",
    "who painted the ceiling of the chapel?",
    "what is a good present for my aunt?", "how many legs does a lobster have?", "explain photosynthesis to a child",
    "which train goes to the airport?", "how do I train a puppy to sit?", "what does a dentist earn?",
    "how do bees make honey?", "what is the wifi password?", "when does the pharmacy close?",
)  # fmt: skip
ACCIDENTS = (
    "how do I explain {} to my grandmother over dinner?", "which novel by a Norwegian author has {} in its title?",
    "is there a song about {} and the sea?", "write a poem about autumn, with the word {} in it",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of rare word: how one is made, and other spellings of it."""

    name: str
    make: Callable[[random.Random], str]
    spellings: tuple[Callable[[str], str], ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the note that has its word, None where nothing stored answers it."""

    kind: str
    text: str
    note: str | None


def drawn(alphabet: str, length: int) -> Callable[[random.Random], str]:
    return lambda generator: "".join(generator.choice(alphabet) for _ in range(length))


def invented(syllables: str, least: int, most: int) -> Callable[[random.Random], str]:
    parts = syllables.split()
    return lambda generator: "".join(generator.choice(parts) for _ in range(generator.randint(least, most)))


def numbered(pattern: str, low: int = 1000, high: int = 9999) -> Callable[[random.Random], str]:
    """A pattern whose # are numbers and whose @ are invented words."""
    word = invented("zor vek mal quin dax ploth grun ster", 2, 3)

    def make(generator: random.Random) -> str:
        signs = (
            str(generator.randint(low, high)) if sign == "#" else word(generator) if sign == "@" else sign
            for sign in pattern
        )
        return "".join(signs)

    return make


def joined_by(sign: str) -> Callable[[str], str]:
    return lambda word: word.replace("-", sign).replace("_", sign).replace(" ", sign)


HEX = "0123456789abcdef"
ANY_CASE = (str.lower, str.upper)
SHAPES = {
    "A": (
        Shape("ticket", numbered("PROJ-#"), (joined_by(" "), joined_by("_"), joined_by(""), str.lower)),
        Shape("hash", drawn(HEX, 10), (str.upper,)),
        Shape("host", numbered("db-prod-#.eu.internal", 10, 99)),
        Shape("invented", invented("zor vek mal quin dax ploth grun", 3, 4), ANY_CASE),
        Shape("error code", numbered("ERR_CONN_#"), (joined_by(" "), joined_by("-"), str.lower)),
        Shape("path", numbered("src/@/@_handler.py")),
        Shape("chinese", drawn("鲸鹭榫镍锗氪钛罡昴犀麒麟琥珀翡翠", 4)),
        Shape("cyrillic", invented("зор вэк мал квин дакс плот грун щер", 3, 4), (str.upper,)),
    ),
    "B": (
        Shape("incident", numbered("INC00#"), (str.lower,)),
        Shape("spaced", numbered("OPS #"), (joined_by("-"), joined_by(""), str.lower)),
        Shape("uuid", lambda g: "-".join(drawn(HEX, n)(g) for n in (8, 4, 4, 4, 12))),
        Shape("version", numbered("v#.#.#", 10, 99), (lambda word: word[1:],)),
        Shape("dotted", numbered("@.@.ConfigLoader"), (str.lower,)),
        Shape("camel", lambda g: "".join(w.capitalize() for w in (numbered("@")(g), "queue", numbered("@")(g)))),
        Shape("image", numbered("registry/@:1.#", 10, 99)),
        Shape("name", invented("tha bri oska lun fer wyn dor ell", 3, 4), (str.capitalize,)),
        Shape("address", lambda g: f"10.{g.randint(20, 250)}.{g.randint(20, 250)}.{g.randint(20, 250)}"),
        Shape("korean", drawn("쿼츠펠릭톤쟁뷔갸횡", 4)),
        Shape("japanese", drawn("ゾルヴァクェピュガザドボ", 5)),
        Shape("greek", invented("ζορ βεκ μαλ κουιν δαξ πλοθ γρουν", 3, 4)),
    ),
}  # fmt: skip


def sentences(path: Path = DEVMEM) -> list[str]:
    notes = json.loads(path.read_text("utf-8"))["notes"]
    return [part.strip() for note in notes for part in note["content"].replace("\n", ". ").split(". ") if part.strip()]


def of_length(generator: random.Random, said: Sequence[str], length: int) -> list[str]:
    parts: list[str] = []
    while sum(map(len, parts)) + 2 * len(parts) < length:
        parts.append(generator.choice(said))
    return parts


def with_words(generator: random.Random, said: Sequence[str], length: int, words: Sequence[str]) -> str:
    """A text of sentences, the words as far from each other as it goes, or anywhere where it is one."""
    parts = of_length(generator, said, length)
    places = (0, len(parts)) if len(words) > 1 else (generator.choice((0, len(parts) // 2, len(parts))),)
    for word, place in zip(words, reversed(places), strict=True):
        parts.insert(place, generator.choice(("We looked into {}", "See {}", "It was about {}")).format(word))
    return ". ".join(parts) + "."


def made_world(half: str, size: int, seed: int) -> tuple[list[Note], list[Asked]]:
    """The notes of a store, and what is asked of it."""
    generator = random.Random(f"{half} {size} {seed}")  # noqa: S311 - made-up data
    said = sentences()
    shapes, lengths = SHAPES[half], LENGTHS
    count = min(max(3, size // 2), len(shapes) * len(lengths))
    wanted = [(shape, length) for shape in shapes for length in lengths]
    generator.shuffle(wanted)
    notes, asked = [], []
    for shape, length in wanted[:count]:
        two = generator.random() < 1 / 4
        words = [shape.make(generator) for _ in range(2 if two else 1)]
        notes.append(noted(len(notes), with_words(generator, said, length, words)))
        asked += list(questions(shape, length, words, notes[-1].id))
    while len(notes) < size:
        notes.append(noted(len(notes), ". ".join(of_length(generator, said, generator.randint(80, 400)))))
    nothing = [Asked("nothing stored", text, None) for text in NOTHING]
    rare = [generator.choice([w for w in generator.choice(notes).content.split() if len(w) > 5]) for _ in ACCIDENTS * 5]
    held = [Asked("by accident", text.format(word), None) for text, word in zip(ACCIDENTS * 5, rare, strict=True)]
    return notes, [*asked, *nothing, *held]


@dataclass(frozen=True, slots=True)
class Said:
    """A word with the sentence that has it, questions that this answers, and others that it does not."""

    language: str
    word: str
    sentence: str
    asks: tuple[str, ...]
    accidents: tuple[str, ...]


def rare_words(half: str) -> Iterator[Said]:
    language = ""
    for line in (DATA / f"rare_words_{half.lower()}.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            language = line[1:].strip()
            continue
        word, sentence, *asked = line.split(" | ")
        yield Said(language, word, sentence, tuple(asked[:3]), tuple(asked[3:]))


def word_worlds(half: str, size: int, seed: int) -> Iterator[tuple[list[Note], list[Asked]]]:
    """Stores of one size that hold all rare words of a half together."""
    generator = random.Random(f"words {half} {size} {seed}")  # noqa: S311 - made-up data
    words = list(rare_words(half))
    stems = tuple(folded(each.word)[:STEM] for each in words)
    around = [text for name in AROUND_WORDS for text in sentences(DATA / f"{name}.json")]
    around = [text for text in around if not any(stem in folded(text) for stem in stems)]
    generator.shuffle(words)
    for first in range(0, len(words), size // 2):
        notes, asked = [], []
        for said in words[first : first + size // 2]:
            length = generator.choice(WORD_LENGTHS)
            parts = of_length(generator, around, length - len(said.sentence))
            parts.insert(generator.choice((0, len(parts) // 2, len(parts))), said.sentence)
            notes.append(noted(len(notes), ". ".join(parts) + "."))
            kind = f"{length / 1000:g} kB" if said.language == "en" else said.language
            framed = generator.choice(WORD_FRAMES[half][said.language]).format(said.word)
            asked += [Asked(kind, text, notes[-1].id) for text in (*said.asks, framed)]
            asked += [Asked("by accident", text, None) for text in said.accidents]
        while len(notes) < size:
            notes.append(noted(len(notes), ". ".join(of_length(generator, around, generator.randint(80, 400)))))
        yield notes, asked + [Asked("nothing stored", text, None) for text in NOTHING]


def noted(number: int, content: str) -> Note:
    made = f"2026-10-{number // 1440 % 28 + 1:02}T{number // 60 % 24:02}:{number % 60:02}:00Z"
    return Note(note_id(START_MS + number * 1000, number * 7919 % (1 << 30)), content, title_of(content), made, made)


def questions(shape: Shape, length: int, words: Sequence[str], note: str) -> Iterator[Asked]:
    if len(words) > 1:
        yield Asked("two far apart", " ".join(words), note)
        yield Asked("two far apart", f"what did {words[0]} have to do with {words[1]}?", note)
        return
    kind = f"{length / 1000:g} kB"
    for frame in FOREIGN_FRAMES.get(shape.name, FRAMES):
        yield Asked(kind, frame.format(words[0]), note)
    for spelt in shape.spellings:
        yield Asked("other spelling", spelt(words[0]), note)
        yield Asked("other spelling", f"what about {spelt(words[0])}?", note)


@dataclass(frozen=True, slots=True)
class Row:
    """Of some questions: how many have their note first, first as a strong hit, get nothing, get strong hits."""

    asked: int
    first: int
    strong: int
    silent: int
    any_strong: int


async def filled(home: Path, encoder: str, notes: Sequence[Note]) -> Memory:
    memory = build_memory(
        load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": encoder, "HOLDFAST_VAULT_ENABLED": "no"})
    )
    index = memory.ports.index
    await index.open()
    rows = [NoteRow(note, note.id, FileRow(f"global/{note.id}.md", "1", 1, 1, note.id)) for note in notes]
    await index.apply(Update(notes=rows))
    if memory.ports.encoder is not None:
        texts = [text_to_encode(note.title, note.content) for note in notes[:ENCODED]]
        chunks = await memory.ports.encoder.encode_documents(texts)
        key = memory.ports.encoder.vector_set.key
        made = [
            MadeVectors(row.note.id, row.encode_hash, key, chunks[number % len(chunks)])
            for number, row in enumerate(rows)
        ]
        await index.apply(Update(vectors=made))
    await index.mark_built()
    return memory


async def answered(
    home: Path, encoder: str, notes: Sequence[Note], asked: Sequence[Asked], *, tell: bool
) -> dict[str, Row]:
    memory = await filled(home, encoder, notes)
    counts: dict[str, Counter[str]] = {}
    for question in asked:
        hits = (await recall(memory.ports, CALLER, Recall(question.text))).hits
        first = bool(hits) and hits[0].note.id == question.note
        strong = first and not hits[0].ranked.weak
        told = counts.setdefault(question.kind, Counter())
        any_strong = any(not hit.ranked.weak for hit in hits)
        told.update(asked=1, first=first, strong=strong, silent=not hits, any_strong=any_strong)
        if tell and (not strong if question.note else any_strong):
            found = next((n for n, hit in enumerate(hits, 1) if hit.note.id == question.note), 0)
            print(f"    {question.kind}: {question.text!r} place {found} of {len(hits)}")
    await memory.aclose()
    return {kind: Row(**{name: told[name] for name in Row.__slots__}) for kind, told in counts.items()}


def in_store(encoder: str, notes: Sequence[Note], asked: Sequence[Asked], *, tell: bool) -> dict[str, Row]:
    with TemporaryDirectory(prefix="holdfast-bench-") as folder:
        return anyio.run(lambda: answered(Path(folder), encoder, notes, asked, tell=tell))


def together(stores: Sequence[dict[str, Row]]) -> dict[str, Row]:
    """The counts of several stores as if they were one."""
    found: dict[str, Row] = {}
    for kind, row in (item for rows in stores for item in rows.items()):
        before = found.get(kind, Row(0, 0, 0, 0, 0))
        found[kind] = Row(*(getattr(before, name) + getattr(row, name) for name in Row.__slots__))
    return found


def report(rows: dict[str, Row]) -> None:
    for kind, row in sorted(rows.items()):
        if row.any_strong or row.first or kind not in ("nothing stored", "by accident"):
            told = f"hits@1 {row.first / row.asked:.3f}  strong {row.strong / row.asked:.3f}"
        if kind in ("nothing stored", "by accident"):
            told = f"false strong {row.any_strong / row.asked:.3f}"
        print(f"  {kind:15} n {row.asked:4}  {told}  silence {row.silent / row.asked:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", default="B", choices=sorted(SHAPES))
    parser.add_argument("--words", action="store_true", help="ask for words of a dictionary in a sentence")
    parser.add_argument("--sizes")
    parser.add_argument("--encoders", default="none,builtin")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--failures", action="store_true", help="print every question that fails")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    configure_logs("error")
    whole: dict[str, dict[str, Row]] = {}
    sizes = options.sizes or ("24,200,2000" if options.words else "5,24,200,10000")
    for size in map(int, sizes.split(",")):
        made = word_worlds if options.words else lambda *given: [made_world(*given)]
        worlds = list(made(options.half, size, options.seed))
        for encoder in options.encoders.split(","):
            rows = together([in_store(encoder, *world, tell=options.failures) for world in worlds])
            print(f"{size:,} notes, encoder {encoder}, half {options.half}", flush=True)
            report(rows)
            whole[f"{size} {encoder}"] = rows
    if options.json:
        plain = {
            name: {kind: {k: getattr(row, k) for k in Row.__slots__} for kind, row in rows.items()}
            for name, rows in whole.items()
        }
        options.json.write_text(json.dumps(plain, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
