"""The real multilingual model, read by our own reader: the file that is pinned, and what it finds in other languages.

Run by .ci/run, which installs requirements-multilingual.txt first; elsewhere the whole module fails if that is missing.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

import anyio
import numpy as np
import pytest

from holdfast.app import build_memory
from holdfast.encode.builtin import PACKAGE, MultilingualEncoder, packaged
from holdfast.engine.runtime import Memory
from holdfast.settings import load_settings
from worlds import PATIENCE, ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.multilingual]

NOTES = (
    "仓库的温度传感器每十分钟上报一次，断网时先存在本地。",
    "Rechnungen über zehntausend Euro müssen von zwei Personen freigegeben werden.",
    "The garage door opener needs a new battery every autumn; it takes two CR2032 cells.",
    "Лена просит не звонить ей до одиннадцати: она работает по ночам.",
    "회의실 예약은 최대 두 시간까지만 가능하다.",
    "The staging servers are switched off over the weekend to save money.",
)
ASKED = (
    ("how often do the sensors in the warehouse report the temperature?", 0),
    ("who has to approve large invoices?", 1),
    ("车库遥控器用什么电池？", 2),
    ("until what hour should Lena not be called?", 3),
    ("pendant combien de temps peut-on réserver une salle de réunion ?", 4),
    ("какие серверы выключают на выходные?", 5),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def memory(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Memory]:
    home = tmp_path_factory.mktemp("languages")
    made = build_memory(load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_MULTILINGUAL": "e5"}))
    async with made.running():
        for text in NOTES:
            await keep(made, text)
        with anyio.fail_after(PATIENCE):
            await made.catch_up()
            while (await ask(made, "ferry")).notices:  # the model is being read for the first time
                await made.catch_up()
        yield made


def test_the_model_is_there_and_nothing_of_its_package_is_imported() -> None:
    path = packaged()
    assert path is not None, "install requirements-multilingual.txt, as .ci/run does"
    assert path.name == "e5-small-q4.bin"
    assert PACKAGE not in sys.modules


@pytest.mark.parametrize(("question", "note"), ASKED)
async def test_a_question_in_another_language_finds_its_note_first(memory: Memory, question: str, note: int) -> None:
    answer = await ask(memory, question)
    assert found(answer)[:1] == [NOTES[note]]
    assert answer.notices == ()


async def test_vectors_are_those_that_were_measured() -> None:
    """Cosines of sentences with the first, as another implementation gave them, less what tells the language."""
    encoder = MultilingualEncoder()
    texts = [
        "The ferry leaves at six.",
        "Die Fähre fährt um sechs ab.",
        "渡轮六点出发。",
        "Tea is kept in the cupboard.",
    ]
    vectors = [np.frombuffer(chunks[0], "<f4") for chunks in await encoder.encode_documents(texts)]
    await encoder.aclose()
    cosines = [float(vectors[0] @ each) for each in vectors]
    assert cosines == pytest.approx(COSINES, abs=0.01)
    assert min(cosines[1:3]) > cosines[3] + 0.3


COSINES = [1.0, 0.774, 0.478, 0.108]
