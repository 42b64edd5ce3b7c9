"""Which prompts ask memory for nothing, and what is asked about."""

from __future__ import annotations

import time

import pytest

from holdfast.model.intent import asked_about
from holdfast.model.prompts import asks_something, idle, idle_at_a_time, without_talk

EMPTY = """
what is 2+2?
What's 17 * 23?
ok thanks
what's next?
what should I do next?
what do we do now?
what can I do for you?
how do I do that?
was mache ich jetzt?
now do the same for the other two
continue
one more time
thanks!
Danke
danke, mach weiter
Was kommt als Nächstes?
merci, continue
fais la même chose pour les deux autres
haz lo mismo con los otros dos
спасибо, продолжай
ありがとう
次は何ですか
谢谢
merci beaucoup
was ist 7 mal 8?
what is 100-37?
whats 17 * 23
1.5/0.05
1024/16
12x12
(3+4)*2
99 - 1000 = ?
combien font 12 + 30 ?
¿cuánto es 5 por 9?
quanto fa 3 più 4?
сколько будет 6 на 7?
三加四等于多少
2足す2は
고마워
شكرا
Thanks, that helps a lot!
That was helpful.
Brilliant, thanks.
Das hilft mir sehr, danke!
Danke, das war hilfreich.
Merci, ça m'aide beaucoup !
Continuons
Me ayuda mucho, gracias.
Hazme reír
Mi aiuta molto, grazie.
Andiamo avanti
Muito gentil, obrigado
you decide
I leave it to you
du entscheidest
tu décides
""".strip().splitlines()
ORDERS = """
fix the failing test
can you refactor this function?
great, now update the docs as well
please add tests for the new code
Behebe den fehlschlagenden Test!
corrige le test qui échoue
arregla la prueba que falla
исправь падающий тест
失敗しているテストを修正してください
修复失败的测试
실패한 테스트를 고쳐줘
""".strip().splitlines()
ASKING = """
how do we run the tests?
what did we decide?
what did you decide?
who decides on refunds?
your choice of editor?
what did we talk about?
who am I?
what do you know about me?
where are the logs?
fix the failing invoice test
error log
tests
8080
weekend
here
three
E1234
rename the billing service
how do I like things explained?
what helps against moths?
was hilft gegen Motten?
¿qué ayuda contra las polillas?
Brilliant Blue
the helpful neighbour
wonderful restaurants
plantes utiles
il lavoro di Anna
where is the den?
our son
show my hay
where is the van?
où est le four ?
where do I work?
what's my job?
what do I like?
when do I get up?
where am I from?
what did we do today?
what were we working on?
where did we stop?
wie mag ich es?
où est-ce que je travaille ?
was haben wir beschlossen?
was kostet das?
quanto costa?
combien ?
comment lance-t-on les tests ?
555-0142
where is 030/4471902?
who has +49 171-2345?
what is 10.44.0.0/16?
1366x768
978-3-16-148410-0
4-4-2
0x8004005B
E0x8004005B
¿cómo ejecutamos las pruebas?
テストはどう実行しますか
怎么运行测试
""".strip().splitlines()


@pytest.mark.parametrize("prompt", EMPTY)
def test_small_talk_and_sums_name_nothing(prompt: str) -> None:
    assert idle(prompt) == "empty"


@pytest.mark.parametrize("prompt", ORDERS)
def test_an_order_that_names_only_what_every_project_has_asks_nothing(prompt: str) -> None:
    assert idle(prompt) == "order"


@pytest.mark.parametrize("prompt", [*ASKING, "", "   ", "?", "ok " * 500])
def test_whatever_may_be_a_question_to_memory_is_none_of_these(prompt: str) -> None:
    assert idle(prompt) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "what do the judges reward most?",
        "did the city give us money",
        "reason for the framework that runs the arm",
        "wann werden die Waschräume gereinigt",
        "¿qué cliente tiene deudas con nosotros?",
        "can I upload new software wirelessly?",
    ],
)
def test_a_question_is_known_by_its_form(prompt: str) -> None:
    assert asks_something(prompt)


@pytest.mark.parametrize(
    "prompt",
    [*EMPTY, *ORDERS, "", "?!", "kubernetes ingress rotation", "could you look at the failing build", "please go on"],
)
def test_orders_small_talk_and_keywords_alone_have_no_form_of_a_question(prompt: str) -> None:
    assert not asks_something(prompt)


MADE_UP = """
write a haiku about rain
Please write me a short poem on winter
can you compose a song about the sea?
draw a cat in ASCII art
tell us a story about a dragon and a knight
make up a riddle
Schreib mir bitte ein Gedicht über den Herbst
erzähl mir einen Witz
écris-moi un poème sur la pluie
escribe un poema sobre la lluvia
напиши сказку про дождь
写一首关于雨的诗
雨について俳句を書いてください
비에 대한 시를 써줘
Conta-me uma anedota.
Write a function that reverses a string.
Schreibe eine Funktion, die eine Zeichenkette umkehrt.
Écris un script qui affiche les nombres premiers
Escribe una función en Python que ordene una lista
Scrivi una funzione che inverte una stringa.
""".strip().splitlines()


@pytest.mark.parametrize("prompt", MADE_UP)
def test_what_is_to_be_made_up_is_in_no_note(prompt: str) -> None:
    assert idle(prompt) == "order"
    assert not asks_something(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "write a poem about my daughter",
        "write a story about what we decided",
        "write a poem for Anna's wedding",
        "tell me the story of the outage",
        "create a user story for the export",
        "what is the song that Lena likes?",
        "who wrote the poem about the harbour?",
        "write the release notes of the gateway",
        "write a migration for the invoices table",
        "write a function that exports our invoices",
        "write the script for the harbour play",
        "写一首关于我们公司的诗",
    ],
)
def test_what_is_ours_may_be_in_a_note_whatever_is_made_of_it(prompt: str) -> None:
    assert idle(prompt) is None


@pytest.mark.parametrize(
    "prompt", ["when is stand-up?", "what is the take-out?", "when is check-in?", "417/2023", "2026/881-F"]
)
def test_a_noun_of_small_words_and_a_number_with_its_year_name_something(prompt: str) -> None:
    assert idle(prompt) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "never mind",
        "let's table it",
        "that did the trick, thanks",
        "no worries, take your time",
        "I don't get step 3. Can you go over it once more?",
        "talk to you later",
        "Talk to you soon!",
        "let\u2019s table it",
        "run the tests once more",
        "can you make it shorter?",
        "kürzer bitte",
        "vergiss es, nicht so wichtig",
        "laisse tomber",
        "¡olvídalo!",
        "più breve per favore",
        "deixa pra lá",
    ],
)
def test_sayings_ask_nothing_whatever_their_words_may_name(prompt: str) -> None:
    assert idle(prompt) is not None


@pytest.mark.parametrize(
    "prompt",
    [
        "Danke, und das Handy?",
        "Gracias, ¿y el trabajo?",
        "Das ist mein Handy",
        "thanks, what about the star",
        "what did we talk about?",
        "what did the trick?",
        "did I sleep well?",
        "was hat geklappt?",
        "show me part 117",
        "is line 12 down?",
        "what's the trick with the boiler?",
        "how much time does the build take?",
        "the shorter commute to Rostock",
        "which router makes sense for the cabin?",
        "wann habt ihr die Hecke kürzer geschnitten?",
    ],
)
def test_the_words_of_a_saying_may_be_asked_about(prompt: str) -> None:
    assert idle(prompt) is None


def test_what_is_to_be_translated_or_mended_stands_in_the_prompt() -> None:
    assert idle('translate "the gate is closed on Sundays" into Greek') == "order"
    assert idle("Traduis en anglais « la barrière est fermée »") == "order"
    assert idle('corrige : "je suis aller a la barriere"') == "order"
    assert idle('Could you please translate "the gate" into Greek?') == "order"
    assert idle("who translates the gate's rules?") is None
    assert idle('translate my note titled "Blue Door" into German') is None
    assert idle('translate what we decided about the "Blue Door"') is None


@pytest.mark.parametrize(
    ("prompt", "time"),
    [
        ("what is the date today?", "today"),
        ("what day is today?", "today"),
        ("welcher Tag ist heute?", "heute"),
        ("what is 2+2 today?", "today"),
        ("ok, until Monday", "until Monday"),
        ("thanks, see you on Friday", "on Friday"),
        ("let's continue tomorrow", "tomorrow"),
        ("finish this by Friday", "by Friday"),
    ],
)
def test_a_time_beside_it_makes_no_question_of_what_asks_nothing(prompt: str, time: str) -> None:
    assert idle_at_a_time(prompt, prompt.replace(time, " ")) == "empty"


def test_an_order_stays_one_with_a_time_beside_it() -> None:
    assert idle_at_a_time("fix the failing test today", "fix the failing test ") == "order"


@pytest.mark.parametrize(
    ("prompt", "time"),
    [
        ("what's on today?", "today"),
        ("anything tomorrow", "tomorrow"),
        ("anything new last week", "last week"),
        ("and last week?", "last week"),
        ("since Monday", "since Monday"),
        ("what's on tomorrow - anything?", "tomorrow"),
        ("list everything from May", "from May"),
        ("was ist morgen?", "morgen"),
        ("what did we do that day last week?", "last week"),
        ("which week did we ship in March?", "in March"),
    ],
)
def test_what_asks_for_all_of_a_time_asks_memory(prompt: str, time: str) -> None:
    assert idle_at_a_time(prompt, prompt.replace(time, " ")) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "what does Ben do?",
        "where is Dan?",
        "what about Ella?",
        "what did Ed do",
        "is this what Will wants?",
        "what does May do?",
    ],
)
def test_a_name_that_is_a_small_word_too_names_somebody_where_it_is_written_as_a_name(prompt: str) -> None:
    assert idle(prompt) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "Thanks Ben!",
        "what is ben",
        "Will you?",
        "ok. Will it?",
        "how are you, Ben?",
        "hi Al, what's up?",
        "Thanks, Will?",
    ],
)
def test_a_small_word_that_is_not_written_so_or_only_says_who_is_spoken_to_names_nobody(prompt: str) -> None:
    assert idle(prompt) == "empty"


@pytest.mark.parametrize("prompt", ["why did that fail?", "Why did this fail again?", "did it crash?", "it crashes"])
def test_what_points_back_at_something_and_asks_why_it_failed_asks_no_memory(prompt: str) -> None:
    assert idle(prompt) == "order"


@pytest.mark.parametrize("prompt", ["what broke the mill?", "How old was it?", "when did I last run before that"])
def test_what_points_back_and_asks_for_something_else_may_be_a_question_to_memory(prompt: str) -> None:
    assert idle(prompt) is None


@pytest.mark.parametrize(
    "number", ["+49 30 5550182", "+1 (555) 010-2233", "99.95%", "030/555 0182", "0561 / 40 27 91", "(030) 555-0182"]
)
def test_a_telephone_number_is_no_sum(number: str) -> None:
    assert idle(number) is None
    assert idle(f"what is {number}") is None


@pytest.mark.parametrize("piece", ["about ", "list on ", "notes zu ", "cranes about "])
def test_what_a_paste_is_about_is_looked_for_at_its_beginning_alone(piece: str) -> None:
    """Bounds the work, not the machine: 64 kB take no longer than some hundred short questions do."""
    started = time.process_time()
    for number in range(300):
        assert asked_about(f"list all notes about cranes {number}") == f" cranes {number}"
    short = time.process_time() - started
    paste = piece * (65_536 // len(piece))
    started = time.process_time()
    assert asked_about(paste).endswith(piece)
    assert time.process_time() - started < short


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Hey Claude, which scanner do we use?", "which scanner do we use?"),
        ("Hello! Which scanner do we use?", "Which scanner do we use?"),
        ("Claude, which scanner do we use?", "which scanner do we use?"),
        ("Which scanner do we use? Thanks!", "Which scanner do we use?"),
        ("Which scanner do we use? Many thanks in advance.", "Which scanner do we use?"),
        ("Hi Anna, wo ist der Schl\u00fcssel? Vielen Dank im Voraus!", "wo ist der Schl\u00fcssel?"),
        ("Bonjour, o\u00f9 est la cl\u00e9 ? Merci d'avance", "o\u00f9 est la cl\u00e9 ?"),
        ("Hola, \u00bfd\u00f3nde est\u00e1 la llave? Gracias", "\u00bfd\u00f3nde est\u00e1 la llave?"),
        ("ok, until Friday", "ok, until Friday"),
        ("Thanks!", "Thanks!"),
        ("hi there", "hi there"),
        ("what did Anna say in thanks", "what did Anna say in thanks"),
        ("is the thank-you page done?", "is the thank-you page done?"),
        ("Claude Code settings", "Claude Code settings"),
    ],
)
def test_whom_a_question_addresses_and_its_thanks_are_no_part_of_it(query: str, asked: str) -> None:
    assert without_talk(query) == asked


@pytest.mark.parametrize("prompt", ["where is Dan?", "tell me about Dan", "wo ist Ben?", "and what does Mia do?"])
def test_a_name_that_is_small_talk_in_lower_case_is_a_name(prompt: str) -> None:
    assert idle(prompt) is None


@pytest.mark.parametrize("prompt", ["no, the other way round", "the other way around please"])
def test_that_it_is_the_other_way_round_names_nothing(prompt: str) -> None:
    assert idle(prompt) == "empty"


@pytest.mark.parametrize("prompt", ["thanks 👍", "super, danke 🎉", "ok 🙏🏽", "perfect ❤️"])
def test_a_face_beside_thanks_names_nothing(prompt: str) -> None:
    assert idle(prompt) == "empty"


@pytest.mark.parametrize("prompt", ["🦔", "what does 👍 mean?", "🚀 docs"])
def test_a_picture_may_be_asked_about(prompt: str) -> None:
    assert idle(prompt) is None
