"""Which words of developers meet, by the index's stemmer or by their family, and which do not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from holdfast.index.schema import TOKENIZER
from holdfast.model.words import relatives

MEET = """
deploy deployment|deploys deployments|deployed deployment|deploying deployments|employ employment|pay payment
paid payments|ship shipment|move movement|place placement|replace replacement|agree agreement|manage management
require requirement|measure measurement|develop development|assign assignment|adjust adjustment|invest investment
fail failure|failed failures|close closure|expose exposure|disclose disclosure|decide decision|decided decisions
collide collision|conclude conclusion|include inclusion|exclude exclusion|extend extension|suspend suspension
expand expansion|convert conversion|revert reversion|resolve resolution|solve solution|describe description
subscribe subscription|transcribe transcription|reduce reduction|produce production|reproduce reproduction
receive reception|notify notification|notified notifications|verify verification|classify classification
specify specification|modify modification|justify justification|create creation|created creation|analyse analysis
analyze analysis|analyse analyze|recover recovery|discover discovery|deliver delivery|expire expiry|inquire inquiry
index indices|indexes indices|indexing indices|matrix matrices|vertex vertices|appendix appendices|maintain maintenance
grow growth|permit permission|submit submission|transmit transmission|omit omission|choose choice|chose chosen
write wrote|written writes|build built|building built|run ran|send sent|break broken|begin began|buy bought|find found
keep kept|lose lost|lost loss|make made|sell sold|take took|freeze frozen|hide hidden|know knew|hold held|drive drove
parse parser|parsing parser|parsers parse|logging logger|log loggers|schedule scheduler|criterion criteria
rewrite rewrote|lend lent|lending lent|eat ate|steal stolen|wear worn|fall fallen|hear heard|forget forgot
draw drawn|fly flew|sleep slept|tooth teeth|knife knives|centimetres cm|centimetre cm|gigabytes gb|kilowatts kw
millimeters mm|kilograms kg|millilitres ml
config configuration|configs configuration|configure config|auth authentication|authenticate auth|db database
dbs databases|repo repository|repos repositories|docs documentation|env environment|envs environments|dev development
prod production|k8s kubernetes|postgres postgresql|js javascript|admin administrator|app application|apps applications
info information|perf performance|param parameter|params parameters|args arguments|vars variables|dir directory
tmp temporary|max maximum|spec specification|sync synchronization|async asynchronous|msg message|pkg package
lib library|libs libraries|deps dependencies|ref reference|stats statistics|creds credentials|cert certificate
certs certificates|infra infrastructure|init initialization|eval evaluation|regex regexp|addr address|conn connection
migrate migration|migrating migrations|release releasing|releases released|retry retries|retrying retried
cache caching|cached caches|query queries|querying query|validate validation|validator validate|install installation
implement implementation|optimize optimization|duplicate duplication|encrypt encryption|delete deletion
connect connection|execute execution|evaluate evaluation|translate translation|approve approval|remove removal
renew renewal|secure security|available availability|depend dependency|dependencies dependent|compile compiler
perform performance|update updating|rotate rotation|allocate allocation|generate generation|integrate integration
document documentation|friday fridays|box boxes|fix fixes|policy policies|tests testing|merge merging
"""
APART = """
test testament|test testimony|port portable|port portrait|organ organisation|server serve|user use|number numb
order ord|letter let|matter mat|better bet|filter filth|layer lay|docker dock|commit commission|commit committee
provide provision|process proceed|version verse|vision side|mission miss|pension pen|station state|nation nature
cache cash|cached cashed|car care|cart card|form formal|form formula|script scripture|token take|table tablet
key keyboard|pipe pip|pod podium|node nod|host hostage|hash hashish|stack stake|queue quest|branch brand|build bill
log login|log logic|flag flaw|patch path|port sport|lint line|link lint|root route|page pager|cert certain|dev device
env envelope|prod prodigy|repo report|repo reply|doc doctor|app apple|app append|auth author|config confide
spec special|stats status|state static|param parade|arg argue|args argue|dir direct|lib liberty|dep depart|max maxim
perf perfume|sync sink|async ascent|pkg pack|addr add|tmp temper|fix fiction|match matter|patch patchouli|price priest
device devil|notice notion|advice advise|db decibel|lend lens|wear were|fall fill
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other in (pair.split() for pair in table.replace("\n", "|").split("|") if pair)]


@pytest.fixture(scope="module")
def texts() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5 (body, tokenize = '{TOKENIZER}')")
    yield connection
    connection.close()


def meet(texts: sqlite3.Connection, asked: str, stored: str) -> bool:
    """Whether a question's word finds a note with the other, as the index looks for it."""
    texts.execute("DELETE FROM texts")
    texts.execute("INSERT INTO texts VALUES (?)", (stored,))
    either = " OR ".join(f'"{word}"' for word in (asked, *relatives(asked)))
    (found,) = texts.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (either,)).fetchone()
    return bool(found)


def test_words_of_one_family_meet_whichever_of_them_is_asked_for(texts: sqlite3.Connection) -> None:
    both_ways = [pair for one, other in pairs(MEET) for pair in ((one, other), (other, one))]
    assert [pair for pair in both_ways if not meet(texts, *pair)] == []


def test_words_that_only_look_alike_do_not_meet(texts: sqlite3.Connection) -> None:
    both_ways = [pair for one, other in pairs(APART) for pair in ((one, other), (other, one))]
    assert [pair for pair in both_ways if meet(texts, *pair)] == []


@pytest.mark.parametrize("word", ["", "a", "v2.0", "кран", "起重機", "x" * 40, "crane"])
def test_most_words_have_no_family_beside_their_stem(word: str) -> None:
    assert relatives(word) == ()
