"""Whether a turn repeats a text, in any script, and with how much work that is found."""

from __future__ import annotations

import pytest

from holdfast.model.transcripts import pieces
from holdfast.model.transcripts.pieces import SaidTexts
from holdfast.model.words import folded_words

OWL = {
    "English": ("We spoke of the bank. My bank secret is owl number three.", "my bank secret is OWL number three!"),
    "Chinese": ("我们今天谈了银行。我的银行密码是猫头鹰三号。", "好的,我的银行密码是猫头鹰三号,别忘了。"),
    "Chinese, exclaimed": ("真的\uff01我的银行密码是猫头鹰三号", "嗯 我的银行密码是猫头鹰三号"),
    "Japanese": (
        "オフィスは三階です。オフィスの鍵はポストの下にあります。",
        "ねえ、オフィスの鍵はポストの下にありますよ",
    ),
    "Japanese, half width": (
        "三階です\uff61ｵﾌｨｽの鍵はポストの下にあります\uff61",
        "オフィスの鍵はポストの下にあります",
    ),
    "Thai": ("เราคุยเรื่องธนาคาร รหัสธนาคารของฉันคือนกฮูกเลขสาม", "วันนี้รหัสธนาคารของฉันคือนกฮูกเลขสามครับ"),
    "Hindi": ("हम बैंक की बात कर रहे थे।मेरा गुप्त शब्द उल्लू तीन है।", "सुनो, मेरा गुप्त शब्द उल्लू तीन है"),
    "Korean": ("은행 이야기를 했다. 내 은행 비밀번호는 올빼미 삼호다.", "내 은행 비밀번호는 올빼미 삼호다"),
}


@pytest.mark.parametrize("language", OWL)
def test_one_sentence_of_a_text_is_found_in_whatever_script(language: str) -> None:
    text, turn = OWL[language]
    assert SaidTexts([text]).are_repeated_in(turn)


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("Yes", "Yes, the pipeline broke when the tests were run."),
        ("Yes. No. Owl.", "Is it an owl? Yes. No. Perhaps an eagle."),
        ("的银行", "我的银行今天关门,明天再去。"),
        ("ครับ", "วันนี้อากาศดีครับ ไปเที่ยวกันไหม"),
        ("The cat sat on the mat.", "The cats at once at on them at last."),
    ],
)
def test_what_says_too_little_is_found_in_no_longer_turn(text: str, turn: str) -> None:
    assert not SaidTexts([text]).are_repeated_in(turn)


@pytest.mark.parametrize(("text", "turn"), [("Yes", "yes!"), ("的银行", "的银行。"), ("ครับ", "ครับ")])
def test_a_turn_that_is_the_same_text_is_found_however_short(text: str, turn: str) -> None:
    assert SaidTexts([text]).are_repeated_in(turn)


def test_texts_without_a_word_are_found_nowhere() -> None:
    assert not SaidTexts(["", "...", "\n\n"]).are_repeated_in("?!")
    assert not SaidTexts().are_repeated_in("We spoke of the deploy.")


def test_many_short_lines_are_found_together_alone() -> None:
    said = SaidTexts(["Owl\nThree\nBank\nSecret\nQuay"])
    assert said.are_repeated_in("So: owl, three, bank, secret, quay.")
    assert not said.are_repeated_in("The owl sat on the quay beside the bank.")


def test_of_a_longer_note_no_text_is_folded_again_for_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = 0

    def counting(text: str) -> list[str]:
        nonlocal letters
        letters += len(text)
        return folded_words(text)

    for module in (pieces, pieces):
        monkeypatch.setattr(module, "folded_words", counting)
    body = "\n".join(f"Step {at}: the harbour crane number {at * 7} is painted by crew {at % 13}." for at in range(120))
    versions = [f"{body}\nEdited {at} times by the crew." for at in range(6)]
    turns = [
        f"We spoke of step {at} of the deploy, and of its pipeline, which broke when tests ran." for at in range(90)
    ]
    said = SaidTexts(versions)
    assert letters < 2 * len(body) + sum(map(len, versions)), "a sentence that several versions have is folded once"
    letters = 0
    assert not any(map(said.are_repeated_in, turns))
    assert letters <= 2 * sum(map(len, turns))
    assert said.are_repeated_in("As I said, step 2: the harbour crane number 14 is painted by crew 2, again.")
