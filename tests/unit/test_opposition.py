"""Texts contradict each other by opposite words about the same thing, and not otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.model.note import Note
from holdfast.model.opposition import LONG, compared, opposition, read_note, restated, to_read, told_anew_in_part
from holdfast.model.parts import asks_for_the_rest, left_in_part, left_out, lost_with

ALWAYS, WORKS, CAUSES, INCREASES, ENABLES = (
    "should always vs should never",
    "works well vs doesn't work",
    "causes vs prevents",
    "increases vs decreases",
    "enables vs blocks",
)
OPPOSED = [
    (ALWAYS, "We should always squash commits", "We should never squash commits before a merge"),
    (ALWAYS, "You mustn't deploy on Fridays.", "You must always deploy on Fridays."),
    (ALWAYS, "Tests: always mock the clock", "Never mock the clock in tests"),
    (WORKS, "The offline cache works well", "The offline cache doesn't work"),
    (WORKS, "The offline cache worked really well under load", "Under load the offline cache does not work"),
    (WORKS, "Retries work fine with the bank", "With the bank, retries won\u2019t work"),
    (CAUSES, "Smoking causes cancer", "Smoking prevents cancer"),
    (CAUSES, "TypeScript prevents runtime errors", "TypeScript does not prevent runtime errors"),
    (CAUSES, "The lock caused a deadlock", "The lock is preventing the deadlock"),
    (INCREASES, "Caching increases latency", "The cache decreases latency"),
    (INCREASES, "Caching increases memory but decreases latency", "Caching increased latency"),
    (ENABLES, "The flag enables retries", "THE FLAG BLOCKS RETRIES!"),
    (ENABLES, "The proxy no longer blocks uploads", "The proxy blocks uploads"),
]
AT_PEACE = [
    ("Smoking causes cancer", "Paint prevents rust"),
    ("The VPN enables access to staging", "The VPN unblocks access to staging"),
    ("Redis increases latency", "Memcached decreases latency"),
    ("Caching increases memory use", "Caching decreases latency"),
    ("TypeScript does not cause slow builds", "TypeScript does not prevent slow builds"),
    ("The new index does not increase cost", "The new index decreases cost"),
    ("We should always test payment code", "We should never test in production"),
    ("Always use tabs", "Never use spaces"),
    ("The lift works well", "The boiler doesn't work"),
    ("Not only does the lock cause stalls", "The lock causes stalls"),
    ("A causal model of demand", "A preventive model of demand"),
    ("def increase(): return 1", "class Shipment: blocked = True"),
    ("", "The cache decreases latency"),
    ("会議は毎週金曜日", "会議は毎週木曜日"),
]


@pytest.mark.parametrize(("pattern", "one", "other"), OPPOSED)
def test_opposite_words_about_the_same_thing_contradict_each_other(pattern: str, one: str, other: str) -> None:
    assert opposition(one, other) == opposition(other, one) == pattern


@pytest.mark.parametrize(("one", "other"), AT_PEACE)
@pytest.mark.parametrize("close", [False, True])
def test_other_texts_do_not(one: str, other: str, *, close: bool) -> None:
    assert opposition(one, other, close=close) is None
    assert opposition(other, one, close=close) is None


@pytest.mark.parametrize("text", [text for _, *pair in OPPOSED for text in pair] + ["X causes Y. X prevents Y."])
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert opposition(text, text, close=True) is None
    assert opposition(text, f"  {text.upper()} ", close=True) is None


def test_texts_that_are_near_by_meaning_need_to_share_less() -> None:
    one = "Nightly compaction increases disk usage on the replicas"
    other = "Disk writes, and usage of space, are decreased by merging segments"
    assert opposition(one, other) is None
    assert opposition(one, other, close=True) == INCREASES


def test_a_very_long_text_is_answered_for() -> None:
    long = "The cache increases latency of requests. " * 5000
    assert opposition(long, "The cache decreases latency of requests") == INCREASES


def noted(text: str) -> Note:
    day = "2026-11-01T00:00:00Z"
    return Note(id="mem_1", content=text, title="A note", created=day, updated=day, type="fact", space="global")


MINUTES = "Minutes of the March meeting. " + "Nobody had anything to say about the minutes of February. " * 8
HEDGE = "The hedge is cut by Mr Osei. "
REST = "The lawn is mown every ten days."


def test_of_a_long_note_that_is_read_beside_another_what_is_likest_to_it() -> None:
    long, short = MINUTES + HEDGE + REST, "The hedge is cut by Florian."
    assert len(long) > LONG
    part = to_read(noted(long), noted(short), 0.3)
    assert part[:2] == (HEDGE.strip(), short)
    assert part.likeness > 0.3, "how near all of a long note is says little about one sentence"
    assert to_read(noted(short), noted(long), 0.3)[:2] == (short, HEDGE.strip())
    assert to_read(noted(HEDGE), noted(short), 0.3) == (HEDGE, short, 0.3)


@pytest.mark.parametrize(
    ("newer", "is_long", "is_anew"),
    [
        ("The hedge by the pond is cut in autumn by Florian.", False, True),
        ("The hedge by the pond is cut in autumn by Florian.", True, False),
        ("The hedge is cut by Florian now.", True, True),
    ],
)
def test_of_two_long_notes_a_sentence_is_told_anew_where_that_is_likelier(
    newer: str, *, is_long: bool, is_anew: bool
) -> None:
    notes = [
        replace(noted(text), id=f"mem_{day}", created=f"2026-11-0{day}T00:00:00Z")
        for day, text in enumerate((MINUTES + HEDGE + REST, MINUTES * is_long + newer), 1)
    ]
    assert told_anew_in_part(notes, "who cuts the hedge?", ()) == [("mem_1", "mem_2")] * is_anew


def test_what_is_read_beside_another_has_its_values_spelled_as_there() -> None:
    older, newer = "Practice begins at 19:30.", "Practice starts at half past seven in the evening."
    assert to_read(noted(older), noted(newer), 0.9) == (older, "Practice starts at 19:30.", 0.9)


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("Choir is in the school now, because the hall had become too cold.", "Choir is in the school now."),
        (
            "Choir is in the school now, so that Ida can come. It begins at 7.",
            "Choir is in the school now. It begins at 7.",
        ),
        ("Choir is in the school now (see the mail of the parish).", "Choir is in the school now."),
        ("Der Chor ist jetzt in der Schule, weil die Halle zu kalt war.", "Der Chor ist jetzt in der Schule."),
        ("Der Chor ist im Sommer hier, dennoch kommt Anna.", "Der Chor ist im Sommer hier, dennoch kommt Anna."),
        ("The horse in the stall now is a percheron.", "The horse in the stall now is a percheron."),
        ("Il coro è adesso nella scuola perché piove.", "Il coro è adesso nella scuola."),
        ("Choir is in the school now (20 minutes on foot).", "Choir is in the school now (20 minutes on foot)."),
        ("Late because of snow.", "Late because of snow."),
        ("The office is open daily (from 9 to 17).", "The office is open daily (from 9 to 17)."),
        (
            "Our rent, according to the new contract, is 900 euros.",
            "Our rent, according to the new contract, is 900 euros.",
        ),
        ("The choir meets in the school, according to Ida, at 7.", "The choir meets in the school, at 7."),
        ("Der Zug fährt jetzt laut Fahrplan um 8:10.", "Der Zug fährt jetzt laut Fahrplan um 8:10."),
        ("Der Chor probt immer laut und lange.", "Der Chor probt immer laut und lange."),
        (
            "It is now shut on Sunday because of the Monday market.",
            "It is now shut on Sunday because of the Monday market.",
        ),
    ],
)
def test_what_is_read_beside_another_is_without_reasons_and_sources(said: str, claim: str) -> None:
    older = "Choir practice is in the parish hall."
    assert to_read(noted(older), noted(said), 0.7) == (older, claim, 0.7)


def test_a_sentence_without_a_blank_behind_it_ends_all_the_same() -> None:
    assert len(read_note("", "桥在周一关闭。渡轮在周二开放。").sentences) == 2


@pytest.mark.parametrize(
    ("older", "newer", "clause", "names_former"),
    [
        (
            "The service is owned by Meera.",
            "Meera changed teams. The service is owned by Joaquin, who is in Lisbon.",
            "The service is owned by Joaquin",
            True,
        ),
        ("Logs go to Splunk.", "We gave up Splunk, logs go to Loki now and are kept.", "logs go to Loki now", True),
        ("We heat with oil.", "The oil tank leaked, so we heat with wood, at last.", "we heat with wood", True),
        ("Ida keeps the keys.", "Ida went to sea and Nora keeps the keys, ring twice.", "Nora keeps the keys", True),
        (
            "The bin is emptied on Monday.",
            "A letter came today: the bin is emptied on Friday.",
            "the bin is emptied on Friday",
            False,
        ),
        ("The fee is 40 euros.", "Anna and Ben counted votes. The fee is 55 euros.", "The fee is 55 euros", False),
        (
            "Die Praxis leitet Dr. Moll.",
            "Dr. Moll h\u00f6rt auf, die Praxis leitet Dr. Aksoy.",
            "die Praxis leitet Dr Aksoy",
            True,
        ),
        # what is said first is the matter: it is read as a whole
        ("The fee is 40 euros.", "The fee is 55 euros, it was voted on.", "", False),
        ("Button: 5 variants", "Button: 3 variants of it", "", False),
        # of another thing, or of another occasion
        ("Last orders are at ten.", "Bar next door: last orders are at eleven.", "", False),
        ("The limit is 12 users.", "For the trial, the limit is 16 users.", "", False),
        ("Docs lead: Alba.", "The docs lead meets translators monthly; Alba drew the logo.", "", False),
        ("Fonts come from Linotype.", "Logos and fonts come from Adobe.", "", False),
        ("The dentist is Dr. Moll.", "The dentist moved house, the dentist is Dr. Aksoy.", "", False),
        ("At Lumbrera Wines I deal with In\u00e9s.", "At Lumbrera Oil I deal with In\u00e9s.", "", False),
        ("The soup is spicy.", "We ate late, the soup is cold.", "", False),
        ("It is 20 euros.", "We asked around, it is 30 euros.", "", False),
        ("The finish is on Elm Square.", "Elm Square got a screen, they engrave medals near the finish.", "", False),
        ("The lead is Ida.", "Per came by, who is the lead of sales.", "", False),
        ("The door is red.", "The door sticks, the red paint is in the shed.", "", False),
        ("The class has 20 pupils.", "We counted today, the class has a dog.", "", False),
        ("The night nurse is Ida.", "We asked around, the day nurse is Ida.", "", False),
    ],
)
def test_a_clause_that_states_anew_what_another_note_states_is_found_behind_what_is_said_first(
    older: str, newer: str, clause: str, *, names_former: bool
) -> None:
    assert restated(older, newer) == ((clause, names_former) if clause else None)


@pytest.mark.parametrize(
    ("kept", "other", "alone"),
    [
        ("Our accountant is Ms Bell.", "Ms Bell is our accountant. Her fee is 300 pounds.", "Her fee is 300 pounds."),
        ("The gate is locked at six.", "At 6 the gate gets locked.", ""),
        ("Blood samples are fetched at 14:00.", "The samples of blood are fetched at 14:00.", ""),
        ("The sweep came.", f"The sweep came. {'Soot fell on carpets, chairs and books. ' * 9}", "Soot fell"),
    ],
)
def test_what_only_one_of_two_notes_says_is_told_and_cut_short(kept: str, other: str, alone: str) -> None:
    told = left_out(noted(other), noted(kept)).said
    assert told.startswith(alone) if alone else not told
    assert len(told) <= 120


@pytest.mark.parametrize(
    ("discarded", "kept", "said", "without"),
    [
        ("Tea is kept in the blue tin.", "Tea is in the red tin.", "blue", ""),
        ("The gate is locked at night.", "The gate is not locked at night.", "", "not"),
        ("Kids may never use the kiln alone.", "Kids may use the kiln alone.", "never", ""),
        ("The heater is switched on in winter.", "The heater is switched off in winter.", "on", ""),
        ("The lift takes at most 6 people.", "The lift takes at least 6 people.", "at most", ""),
        ("All tests must pass before a release.", "All tests should pass before a release.", "must", ""),
        ("All tests must pass before a release.", "All tests pass before a release.", "must", ""),
        ("Mia is probably allergic to penicillin.", "Mia is allergic to penicillin.", "probably", ""),
        ("The meeting takes 30 minutes.", "The meeting takes about 30 minutes.", "", "about"),
        ("Tickets are sold on Mondays only.", "Tickets are sold on Mondays.", "only", ""),
        ("The pool is heated with gas.", "The pool is heated by a heat pump, not with gas.", "", "not"),
        ("Parcels are left at the back door.", "Parcels are left at the front door.", "back", ""),
        ("Reviews are required.", "Reviews are optional.", "required", ""),
        ("The API accepts JSON.", "The API accepts XML.", "JSON", ""),
        ("The pump is serviced every year in May.", "The pump is serviced every year.", "May", ""),
        ("The oven is heated for 20 minutes.", "The oven is heated.", "20 minutes", ""),
        ("Grandpa takes 5 mg, never with juice.", "Grandpa takes 10 mg.", "5 mg … never with juice", ""),
        ("Practice is on Mondays; bring a stand.", "Practice is on Mondays.", "bring a stand.", ""),
        ("Die Katze darf nicht nach draußen.", "Die Katze darf nach draußen.", "nicht", ""),
        ("The doctor of our family is Dr. Lund.", "The doctor of our family is Ada.", "Dr. Lund", ""),
        ("Le portail est fermé la nuit.", "Le portail est ouvert la nuit.", "fermé", ""),
        ("桥在周一关闭。渡轮在周二开放。", "桥在周一关闭。", "渡轮在周二开放。", ""),
        ("会议是每周五", "每周五有会议", "会议是每周五", ""),
        ("The gate must be locked because nobody is there at night.",
         "The gate is locked because nobody is there at night.", "must", ""),
        # told in other words, but for what matters
        ("Tea is in the red tin in the kitchen.", "In the kitchen stands the blue tin with tea.", "red", ""),
        ("The market is in the hall unless it rains.", "In the hall is the market on dry days.", "unless it rains", ""),
        ("Reviews are done by Ada at git.example/ops.", "Ada does reviews at length, hourly.", "git.example/ops", ""),
        ("The hall is painted in Skimming Stone.", "We painted the hall in Cromarty.", "Skimming Stone", ""),
        ("Members want the news on paper, pinned to the board.", "Nobody wants paper: news for members goes by mail.",
         "pinned to the board", "nobody"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_told_down_to_a_word(discarded: str, kept: str, said: str, without: str) -> None:
    lost = left_out(noted(discarded), noted(kept))
    assert (lost.said, lost.without) == (said, without)


@pytest.mark.parametrize(
    ("one", "other", "first", "second"),
    [
        ("Pull requests need two approvals before merging.", "Before merging, a PR has to be approved by two people.",
         "Pull requests", None),
        ("Never store owners' bank details in log files.", "Bank details of pet owners must not appear in the logs.",
         "store … files", "pet … appear"),
        ("Mushrooms are something that Emil hates to eat.", "Emil can't stand mushrooms.", "eat", "stand"),
        ("The dog sleeps in the kitchen.", "In the barn sleeps the dog.", "kitchen", "barn"),
        ("Cats get chicken for dinner.", "For dinner cats get salmon.", "chicken", "salmon"),
        ("Ada feeds the horse hay.", "The horse is fed oats by Ada.", "hay", "oats"),
        ("Old bread is dried and ground for crumbs on Wednesday afternoons.",
         "On Wednesday afternoon stale bread is dried and made into crumbs.", "ground", "stale"),
        ("Butter is from the Almhof dairy.", "We use butter which the Almhof dairy supplies.", "", "supplies"),
        ("The little tin is for tea.", "Tea has the small tin.", "", ""),
        ("The crane is checked by Ada in the morning.", "Ada does the check of the crane.", "morning", ""),
        ("Only admins may delete users.", "Deleting users is allowed for admins only.", "", ""),
        ("The consent form must be signed before any anaesthesia.", "No anaesthesia without a signed consent form.",
         "", ""),
        ("Grandma Ingeborg's birthday is on 9 April.", "Ingeborg, our grandmother, was born on the ninth of April.",
         "", ""),
        ("The meeting starts at 8:30.", "The meeting begins at half past eight.", "", ""),
        ("Passwords must be at least 14 characters long.", "The minimum length of a password is fourteen characters.",
         "", "length"),
        ("Doses are rounded down.", "The dosage calculator rounds down.", "", "calculator"),
        ("Entering the lab alone is not allowed.", "Nobody may enter the lab alone.", "", ""),
        ("The kettle must not be filled above the line.", "Never fill the kettle above its line.", "", ""),
        ("Photographs are taken by Ingrid alone.", "Only Ingrid takes photographs.", "", ""),
        ("The tree is pruned by Arne and no one else.", "The tree is pruned by Arne and by nobody else.", "", ""),
        ("A loaf is scored with one cut, never with a cross.", "A loaf gets one cut; do not score it crosswise.",
         "", ""),
        ("Spelt rolls contain no wheat.", "Spelt rolls are wheat-free.", "contain", ""),
        ("Converting dates is up to the client.", "Conversion of dates is the job of the client.", "", "job"),
        ("Torte is best on day four and keeps.", "Torte keeps and is best on the fourth day.", "", ""),
        ("Working abroad is fine, provided that she knows beforehand.", "One may do the job abroad if she is told.",
         "Working \u2026 fine \u2026 provided that she knows beforehand", None),
    ],
)  # fmt: skip
def test_of_what_is_told_in_other_words_none_but_words_without_a_counterpart_are_lost(
    one: str, other: str, first: str, second: str | None
) -> None:
    for discarded, kept, said in ((one, other, first), (other, one, second)):
        lost = left_out(noted(discarded), noted(kept))
        if said is not None:
            assert (lost.said, lost.without, lost.weighs) == (said, "", False)


@pytest.mark.parametrize(
    ("discarded", "kept"),
    [
        ("The compost goes behind the shed.", "Compost goes behind the shed, but no meat in it because of the rats."),
        ("The boiler is serviced by Kruse.", "The boiler is serviced by Kruse each May for about 140 euros."),
        ("Max may borrow the car.", "Max may borrow the car only if he refuels it."),
    ],
)
def test_nothing_is_lost_of_a_note_that_the_kept_one_says_and_more(discarded: str, kept: str) -> None:
    assert left_out(noted(discarded), noted(kept)) == ("", "", False)


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("The billing API requires a signed token.", "The billing API doesn't require a signed token.", "denial"),
        ("The disk is encrypted.", "The disk isn\u2019t encrypted.", "denial"),
        ("We can deploy on Fridays.", "We can't deploy on Fridays.", "denial"),
        ("Bestellung mit Lieferschein.", "Bestellung ohne Lieferschein.", "denial"),
        ("The cache holds thirteen entries per shard.", "The cache holds fourteen entries per shard.", "value"),
        ("Es gibt zwölf Boxen.", "Es gibt fünfzehn Boxen.", "value"),
        ("Backups run once a day.", "Backups run twice a day.", "value"),
        ("Hay doce cajas.", "Hay 12 cajas.", "none"),
        ("La tienda cierra los lunes.", "La tienda cierra los martes.", "value"),
        ("The fee is 50 cents.", "The fee is 50 pence.", "none"),
    ],
)
def test_what_two_notes_say_differently_is_seen_however_it_is_written(one: str, other: str, difference: str) -> None:
    assert compared(noted(one), noted(other)).difference == difference
    assert compared(noted(other), noted(one)).difference == difference


ROUTE = "Route 7 (driver Pavel, bus 31) leaves the depot at 5:40 and ends at the harbour."
ROUTE_NOW = "Route 7 leaves the depot at 5:55 now."
FERRY = "The ferry to Ulvik, run by Fjordline with the boats Alma and Siri, leaves at 9:30 from pier 4."
FERRY_NOW = "The ferry to Ulvik, run by Fjordline, leaves at 10:15 now."
RAUM = "Raum Erle hat 12 Plätze und einen Beamer an der Decke."
RAUM_NOW = "Raum Erle wird jetzt per Mail gebucht."


@pytest.mark.parametrize(
    ("asked", "older", "newer", "rest"),
    [
        ("where does route 7 end?", ROUTE, ROUTE_NOW, True),
        ("which bus does route 7 use?", ROUTE, ROUTE_NOW, True),
        ("when does route 7 leave the depot?", ROUTE, ROUTE_NOW, False),
        ("from which pier does the ferry leave?", FERRY, FERRY_NOW, True),
        ("from which pier does the ferry leave?", FERRY, "The ferry to Ulvik, run by Fjordline, leaves from 5.", False),
        ("when does the ferry leave?", FERRY, FERRY_NOW, False),
        ("Hat Raum Erle einen Beamer?", RAUM, RAUM_NOW, True),
        ("Wie wird Raum Erle gebucht?", RAUM, RAUM_NOW, False),
        ("what does the berth cost?", "The berth costs 1,480 euros a year.", "Berth fee: 1,620 euros a year.", False),
        ("which database does billing use?", "We use Postgres for billing.", "Billing moved to MySQL.", False),
        ("who is my emergency contact?", "Emergency contact: Ruth, 555-0142.", "In an emergency call Daniel.", False),
        ("where is the spare tent?", "The spare tent is in the blue box.", "The lease of the boat ends in June.", None),
    ],
)
def test_what_a_newer_note_does_not_replace_is_asked_for(asked: str, older: str, newer: str, *, rest: bool) -> None:
    assert asks_for_the_rest(asked, noted(older), noted(newer)) is rest


@pytest.mark.parametrize(
    ("older", "newer", "lost"),
    [
        (ROUTE, ROUTE_NOW, "driver Pavel \u2026 bus 31 \u2026 ends at the harbour"),
        (FERRY, FERRY_NOW, "pier 4"),
        (RAUM, RAUM_NOW, "Raum Erle hat 12 Plätze \u2026 einen Beamer an der Decke"),
        ("The limit is 100 requests.", "The limit is now 300 requests.", ""),
        ("The gate opens at 7, because the baker comes early.", "The gate opens at 8.", ""),
        ("The user drinks coffee with milk and sugar.", "The user drinks coffee with oat milk now.", ""),
        ("The pool opens at 7 and has a slide.", "The pool no longer exists.", ""),
        ("배포는 매주 화요일에 합니다.", "배포 요일이 목요일로 변경되었습니다.", ""),
        ("The spare tent is in the blue box.", "The lease of the boat ends in June.", None),
    ],
)
def test_what_a_note_says_beside_what_is_replaced_is_lost_with_it(older: str, newer: str, lost: str | None) -> None:
    assert lost_with(noted(older), noted(newer)) == lost


@pytest.mark.parametrize(
    ("older", "newer", "left"),
    [
        ("Daily standup is at 9:15 in the room Dachs.", "The daily standup has moved to 10:00.", "in the room Dachs"),
        ("Lessons of Emil are with Nora Okafor at 16:30.", "Emil's lessons are at 15:00.", "with Nora Okafor"),
        ("Lessons of Emil are with Mrs. Okafor at 16:30.", "Emil's lessons are at 15:00.", "with Mrs. Okafor"),
        ("Our server runs Debian 11 in the Frankfurt data centre.", "Our server was upgraded to Debian 12.",
         "in the Frankfurt data centre"),
        ("The newsletter is sent by Ines on the first of a month.", "The newsletter is sent on the tenth.", "by Ines"),
        ("Backups are kept for 30 days because the auditor demands it.", "Backups are kept for 90 days.",
         "because the auditor demands it"),
        ("The standup is at 9:15 in the kitchen.", "The standup is at 10:00 now.", "in the kitchen"),
        ("The choir rehearses with Ada in the Dom.", "The choir rehearses with Ben.", "in the Dom"),
        ("Der Chor probt um 20 Uhr in der Lutherkirche.", "Der Chor probt jetzt um 19:30 Uhr.", "in der Lutherkirche"),
        # the newer one has another in its place
        ("The spare key is with the Brandts next door.", "Aunt Solveig has our spare key.", ""),
        ("Our dentist is Tom Mohr in Kiel.", "Our dentist is Ada Preuss.", ""),
        ("We host the wiki at Hetzner.", "The wiki moved to Fly.io.", ""),
        ("The key is in the drawer in the kitchen.", "The key is in the shed.", ""),
        ("Reports go to Gerda every Monday.", "Reports go to Tim every Monday.", ""),
        ("Standup is at 9:15 in the room Dachs.", "Standup is at 10:00 in the kitchen.", ""),
        # or says it in other words, gives another reason, or tells that it has ended
        ("The yoga class is with Ines on Tuesdays.", "The yoga class is on Thursdays, Ines gives it as before.", ""),
        ("Logs are kept for 30 days because of audits.", "Logs are kept for 9 days because disks are full.", ""),
        ("The pool opens at 7 in Kiel.", "The pool no longer exists.", ""),
    ],
)  # fmt: skip
def test_a_phrase_that_nothing_takes_the_place_of_is_left_with_what_is_replaced(
    older: str, newer: str, left: str
) -> None:
    assert left_in_part(noted(older), noted(newer)) == left


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The bins are emptied each Wednesday.", "On Wednesdays the bins are emptied."),
        ("On Sundays we bake rolls.", "Sunday's bread: rolls."),
        ("The consent form must be signed before any anaesthesia.", "No anaesthesia without a signed consent form."),
        ("Emil can't stand mushrooms.", "Mushrooms are something that Emil hates to eat."),
        ("The user dislikes long emails.", "The user does not like emails that are long."),
        ("The fuse for the garage is number 14.", "In the fuse box, no. 14 is the garage."),
        ("The meeting starts at 8:30.", "The meeting begins at half past eight."),
    ],
)
def test_other_words_for_the_same_are_no_difference(one: str, other: str) -> None:
    for pair in ((one, other), (other, one)):
        assert compared(*map(noted, pair)).difference == "none"


def test_a_value_in_a_reason_is_none_of_what_is_told() -> None:
    newer = "Reminders go out 24 hours before the visit, because owners forgot again after two days."
    assert compared(noted(newer), noted("Reminders go out 48 hours before the visit.")).difference == "value"


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("The gate is locked at night.", "The gate is not locked at night.", "denial"),
        ("Emil likes mushrooms.", "Emil does not like mushrooms.", "opposites"),
        ("Emil loves mushrooms.", "Emil hates mushrooms.", "opposites"),
        ("The walk begins at the mill.", "The walk ends at the mill.", "opposites"),
        ("The bins are emptied on Wednesdays.", "The bins are emptied on Thursdays.", "value"),
    ],
)
def test_what_differs_still_does_in_one_wording(one: str, other: str, difference: str) -> None:
    assert compared(noted(one), noted(other)).difference == difference
