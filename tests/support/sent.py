"""Statements as PostgreSQL's log has them, what distributed engines and poolers allow, and what our source holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import postgres
from holdfast.store import rows

LOGGED = ("log_statement=all", "log_line_prefix=%u|")
_LINE = re.compile(r"^(\w*)\|LOG:  (statement|execute ([^:]*)): (.*)$")
_SOURCE = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|BEGIN|SET)\b")
_CLAUSE = re.compile(r"^\0? *(WHERE|AND) .*%s")
_HOLE = "\0"
_SCOPE = re.compile(
    r"^(SET LOCAL holdfast\.tenant = '\w+'); "
)  # before the one question that comes in the same message

# What needs a session (a pooler gives each transaction another), or what Citus, YugabyteDB or CockroachDB lack.
FORBIDDEN = {
    "a session": r"\b((un)?listen|(pg_)?notify|pg_advisory\w*|prepare|deallocate|discard|temp(orary)?|cursor)\b",
    "a setting of the session": r"^set (?!local\b)|\bset_config\b|\bset session\b|\breset\b",
    "numbers of the database": r"\b(nextval|currval|lastval|setval|serial|generated)\b",
    "functions that answer anew each time": r"\b(random|clock_timestamp|gen_random_uuid|timeofday)\(",
    "tables made by servers": r"\b(create|alter|drop|truncate|grant)\b",
    "locks of tables": r"\block table\b",
    "types of few engines": r"\b(jsonb|tsvector|hstore)\b|@>|<@|\?\|",
    "another tenant for a row": r"\bset tenant\b",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement; `name` is that of a prepared one, empty for those that are not."""

    text: str
    name: str


def statements(server: postgres.Postgres, role: str = postgres.ROLE) -> set[Sent]:
    """Every statement that a role sent to a server that logs them (`LOGGED`)."""
    found = set()
    for line in (server.folder / "log").read_text("utf-8").splitlines():
        if (match := _LINE.match(line)) and match[1] == role:
            name = "" if match[3] in {None, "<unnamed>"} else match[3]
            found |= {Sent(text, name) for text in _SCOPE.sub("\\1\n", match[4]).split("\n")}
    return found


def broken_rules(sent: Sent) -> list[str]:
    """What a statement does that some engine or pooler does not allow."""
    text = sent.text.lower()
    found = [what for what, pattern in FORBIDDEN.items() if re.search(pattern, text)]
    if sent.name:
        found.append(f"prepared as {sent.name}")
    tables = re.findall(r"\bholdfast\.(?!tenant\b)(\w+)", text.replace("holdfast.meta", ""))
    if text.startswith("insert into"):
        if not re.match(r"insert into holdfast\.\w+( as \w+)? \(tenant[,)]", text):
            found.append("an insertion whose first column is not the tenant")
        if "on conflict" in text and "on conflict (tenant" not in text:
            found.append("a conflict that is not about a key of the tenant")
        tables = tables[1:]
    if len(re.findall(r"\btenant = (?:\$\d|'\w+')", text)) < len(tables):
        found.append("a table that is not filtered by tenant")
    return found


def in_source() -> dict[str, re.Pattern[str]]:
    """The statements that the module of the servers' storage have, each as a pattern of what is sent."""
    return {
        text.replace(_HOLE, "{}"): re.compile(_escaped(text).replace("%s", r"(?:\$\d+|'\w+'|\d+)"))
        for text in _texts()
        if _SOURCE.match(text)
    }


def about_tenants() -> dict[str, re.Pattern[str]]:
    """The statements there about the tables, and the clauses that they go on with, each as a pattern of what is asked.

    A question may go on with a clause, which has a pattern of its own; nothing else may.
    """
    found = {}
    for text in _texts():
        if "holdfast." in text and _SOURCE.match(text) and not text.startswith("SET"):
            more = r"( (AND|WHERE) .+)?" if text.lstrip().startswith("SELECT") else ""
            found[text.replace(_HOLE, "{}")] = re.compile(_escaped(text) + more)
        elif _CLAUSE.match(text):
            found[text.replace(_HOLE, "{}")] = re.compile(f".+{_escaped(text.replace(_HOLE, ''))}")
    return found


def _texts() -> Iterator[str]:
    for path in sorted(Path(str(rows.__path__[0])).glob("*.py")):
        if path.stem == "schema":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            text = _text(node) if id(node) not in parts else None
            if text is not None:
                yield text


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("{}", _HOLE)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else _HOLE for part in node.values)
    return None


def _escaped(text: str) -> str:
    return re.escape(text.strip()).replace(re.escape(_HOLE), ".+")
