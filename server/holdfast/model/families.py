"""Words of one family that the index's stemmer keeps apart: "deploy" and "deployment", "decide" and "decision".

The stemmer knows inflections and most endings ("migrate", "migrating", "migration"). Here is what it leaves: a few
derivations by rule, irregular forms and abbreviations by table. A rule may make words that there are not; whoever looks
for them finds none.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

_SHORTEST, _LONGEST = 2, 24

# Endings of verbs, or of singulars, beside those of what is made of them.
_ENDINGS = (
    ("oy", "oyment"), ("ip", "ipment"), ("ove", "ovement"), ("lace", "lacement"), ("gree", "greement"),
    ("cide", "cision"), ("lide", "lision"), ("vide", "vision"), ("clude", "clusion"), ("fuse", "fusion"),
    ("tend", "tension"), ("pend", "pension"), ("pand", "pansion"), ("vert", "version"), ("solve", "solution"),
    ("scribe", "scription"), ("duce", "duction"), ("ceive", "ception"), ("ify", "ification"), ("reate", "reation"),
    ("lyse", "lysis"), ("lyze", "lysis"), ("lyse", "lyze"), ("lose", "losure"), ("pose", "posure"),
    ("cover", "covery"), ("liver", "livery"), ("pire", "piry"), ("quire", "quiry"), ("ex", "ices"), ("ix", "ices"),
    ("grow", "growth"), ("tain", "tenance"), ("ceed", "cess"),
)  # fmt: skip
_APART = frozenset(  # what the rules would join and nobody does
    {frozenset(pair.split()) for pair in ("provide provision", "proceed process", "obtain obtenance", "exceed excess")}
)

# Each line is one family.
_TABLE = """
pay paid payment
fail failure
state statement
treat treatment
permit permission
submit submission
transmit transmission
admit admission
omit omission
emit emission
choose chose chosen choice
write wrote written
build built
run ran
send sent
break broke broken
begin began begun
buy bought
bring brought
catch caught
teach taught
think thought
find found
keep kept
lose lost loss
make made
meet met
read reading
sell sold
speak spoke spoken
spend spent
take took taken
tell told
throw threw thrown
throws threw
freeze froze frozen
hide hidden hid
grow grew grown
know knew known
drive drove driven
give gave given
hold held
lead led
rebuild rebuilt
rewrite rewrote rewritten
overwrite overwrote overwritten
parse parser parsing
log logger
lint linter
schedule scheduler
worker work
tester test
runner run
loader load
reader read
writer write
criterion criteria
schema schemata
child children
config configuration configure
auth authentication authenticate
authn authentication
authz authorization authorisation
db database
dbs databases
repo repository
docs documentation
doc document
env environment
dev development
prod production
k8s kubernetes
postgres postgresql
js javascript
admin administrator
app application
info information
perf performance
param parameter
params parameters
arg argument
args arguments
var variable
vars variables
func function
dir directory
dirs directories
tmp temporary
temp temporary
max maximum
min minimum
spec specification
specs specifications
sync synchronize synchronise synchronization synchronisation
async asynchronous
msg message
pkg package
lib library
libs libraries
dep dependency
deps dependencies
ref reference
refs references
stats statistics
pwd password
creds credentials
cert certificate
certs certificates
infra infrastructure
impl implementation
init initialize initialise initialization initialisation
eval evaluate evaluation
i18n internationalization internationalisation
l10n localization localisation
a11y accessibility
o11y observability
regex regexp
img image
conn connection
addr address
vuln vulnerability
vulns vulnerabilities
"""
_FAMILIES: dict[str, frozenset[str]] = {}
for _line in _TABLE.split("\n"):
    for _word in _line.split():
        _FAMILIES[_word] = _FAMILIES.get(_word, frozenset()) | frozenset(_line.split())


@functools.lru_cache(maxsize=4096)
def relatives(word: str) -> tuple[str, ...]:
    """Words of the same family as a folded word that its stem does not lead to, in order; mostly none."""
    if not (_SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalnum()):
        return ()
    bases = list(dict.fromkeys(_bases(word)))
    found: dict[str, None] = {}
    for base in bases:
        found.update(dict.fromkeys(sorted(_FAMILIES.get(base, ()))))
        found.update(dict.fromkeys(_derived(base)))
    return tuple(each for each in found if each not in bases)


def _bases(word: str) -> Iterator[str]:
    """The word, and what it may be a form of."""
    yield word
    for ending, instead in (("ies", ("y",)), ("ied", ("y",)), ("ing", ("", "e")), ("ed", ("", "e")), ("es", ("", "e"))):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > _SHORTEST:
            yield from (stem + each for each in instead)
            if stem[-1] == stem[-2]:
                yield stem[:-1]
            return
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]


def _derived(base: str) -> Iterator[str]:
    for one, other in _ENDINGS:
        for ending, instead in ((one, other), (other, one)):
            if base.endswith(ending):
                made = base.removesuffix(ending) + instead
                if frozenset((base, made)) not in _APART:
                    yield made
