"""Which two notes are versions of one fact, by their texts alone."""

from __future__ import annotations

import pytest

from holdfast.engine.agent.matters import overtaken
from holdfast.model.claims import claim, parts_that_differ, said_besides
from holdfast.model.versions import (
    FOLDED,
    ReadTogether,
    are_entries,
    as_read,
    evidence,
    likelihood,
    likelihood_together,
)

UNLIKELY = 0.16  # by their texts alone


def likely(older: str, newer: str) -> float:
    return likelihood(older, newer, None)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Standup is at 9:15 every weekday.", "Standup moved to 9:45 since Priya joined."),
        ("Standup is at 9:15 every weekday in the big room.", "Standup moved to 9:45 since Priya joined."),
        ("Deploys go out on Tuesdays.", "Deploys moved to Thursdays."),
        ("The weekly sync takes place in room Atlas.", "The weekly sync moved to room Zephyr."),
        ("Backups run at 2 am.", "Backups now run at 4 am because of the batch job."),
        ("Das Standup ist um 9:15 Uhr.", "Das Standup wurde auf 9:45 Uhr verschoben."),
        ("The release date is 12 January.", "The release slipped to 12 February."),
        ("School lunch costs 3.80 euros.", "School lunch was raised to 4.20 euros."),
        ("Staff meeting: Tuesdays at 13:30.", "Staff meeting moved to Thursdays at 15:00."),
        ("La réunion est le 3 juin.", "La réunion est le 3 juillet."),
    ],
)
def test_what_has_moved_is_a_version_of_what_it_was(older: str, newer: str) -> None:
    assert likely(older, newer) >= FOLDED


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("juin", "juillet", False),
        ("June", "July", False),
        ("Okt", "October", True),
        ("Sonnabend", "Sonntag", False),
        ("Sonnabend", "samedi", True),
        ("martes", "miércoles", False),
        ("Tuesdays", "dienstags", True),
    ],
)
def test_months_and_days_of_the_week_are_told_apart_by_their_whole_names(
    one: str, other: str, *, is_same: bool
) -> None:
    mine, its = ([term.stem for term in claim(f"Yoga, {day}").head if term.kind == "value"] for day in (one, other))
    assert len(mine) == len(its) == 1
    assert (mine == its) is is_same


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The retro is on Fridays at 15:00.", "The retro board is in Miro."),
        ("Deploys go out on Tuesdays.", "Deploys need two approvals."),
        ("The pilot boat leaves at 6:30.", "The pilot boat belongs to Rasmussen."),
        ("Invoices are sent on Mondays.", "Invoices have 14 fields."),
        ("Standup is at 9:15 every weekday.", "Standup notes go to the wiki page Standup."),
    ],
)
def test_a_day_a_figure_and_a_name_of_one_subject_are_no_versions_of_each_other(older: str, newer: str) -> None:
    assert likely(older, newer) < UNLIKELY
    assert likely(newer, older) < UNLIKELY


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The saddle of Stella hangs in the tack room.", "The saddle of Blitz hangs at the saddler's."),
        ("Der Schlüssel vom Keller hängt am Brett.", "Der Schlüssel vom Dachboden hängt am Haken."),
        ("La clé de la cave est sur le mur.", "La clé du grenier est sur la table."),
        ("The kitchen cost 9,800 euros.", "The fitter of the kitchen took 750 euros."),
        ("The service of the sewing machine costs 90 euros.", "The sewing machine costs 450 euros."),
        ("Meeting with Anna: we agreed on oak.", "Meeting with Anna: we agreed on ash."),
        ("Lunch with Marco at noon, talked about the boat.", "Lunch with Marco at noon, talked about the house."),
    ],
)
def test_two_things_of_one_name_and_a_part_with_its_whole_are_no_versions(older: str, newer: str) -> None:
    assert likely(older, newer) == 0.0
    assert likely(newer, older) == 0.0


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The captain of the team is Ann.", "The captain of the team is Bea."),
        ("The price of the ticket is 3 euros.", "The price of a ticket rose to 4 euros."),
        ("A jar of honey costs 8 euros.", "Honey costs 9 euros now."),
        ("Anna is head of sales.", "Anna is head of marketing now."),
        ("Standup is at 10 in the hall.", "Standup is at 11 in the hall."),
        ("In tollgate the invoice costs 3 euros.", "In tollgate the invoice costs 4 euros."),
        ("In May the rent is 800 euros.", "In May the rent is 850 euros."),
        ("Nimbus 2.7.3 on the build host (bld-01).", "Nimbus 2.10.4 on the build host (bld-01)."),
        ("trailer tyres 2.8 bar left / 3.0 bar right", "trailer tyres 2.3 bar left / 2.5 bar right"),
        ("Newsfeed costs us EUR 1,240 a month.", "Newsfeed costs us EUR 1,610 a month."),
        ("Fred lives in Oslo.", "Fred lives in Bergen now."),
    ],
)
def test_what_is_said_anew_of_a_thing_or_of_what_it_has_is_a_version(older: str, newer: str) -> None:
    assert likely(older, newer) >= FOLDED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Deploys need two approvals.", "Deploys now happen on Thursdays."),
        ("Backups of the wiki now run at 4 am.", "Backups of the wiki are kept for 30 days."),
        ("The search box returns 20 hits.", "The search box accepts 200 characters."),
        ("Season tickets cost 340 euros.", "Day tickets cost 28 euros."),
        ("The user lives in Graz.", "The user switched to Neovim."),
        ("The user lives in Graz.", "The user moved the standup to 9:45."),
        ("The user's brother lives in Zagreb.", "The user moved to Vienna."),
        ("The user speaks German.", "The user speaks Portuguese."),
        ("Anna's birthday is 3 May.", "Ben's birthday is 4 June."),
        ("Anna is allergic to cashews.", "Allergy test of Anna: birch pollen strongly positive."),
        ("Fenja needs 12 units of insulin at night.", "Gustav injects 8 units of insulin in the evening."),
        ("Otis the beagle gets 90 g of food.", "Frau Kolb takes 70 g of it."),
        ("The staging DB is on port 5432.", "The production DB is on port 5433."),
        ("In tollgate the invoice is written in Rust.", "In tollgate the refund is written in Rust."),
    ],
)
def test_other_things_that_are_said_of_one_subject_or_of_its_siblings_are_no_versions(older: str, newer: str) -> None:
    assert likely(older, newer) < FOLDED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user lives in Graz.", "The user moved to Vienna."),
        ("Dashboards are at grafana.example/d/ops.", "Dashboards are at grafana.example/d/platform."),
        ("Urgent folders have a red label.", "Urgent folders have an orange label, red is for the auditors."),
        ("Ivo wears size 30, wide feet, Velcro not laces.", "Ivo wears size 32, still wide feet, still Velcro please."),
    ],
)
def test_another_state_of_one_thing_is_a_version_of_it(older: str, newer: str) -> None:
    assert likely(older, newer) >= FOLDED


@pytest.mark.parametrize(
    ("older", "newer", "parts", "more"),
    [
        ("Deploys go out on Tuesdays.", "Deploys now go out on Thursdays.", ("Tuesdays", "Thursdays"), False),
        ("I live in Graz and work Monday to Thursday.", "I live in Vienna.", ("Graz", "Vienna"), True),
        ("The API listens on 8080. Its logs go to Loki.", "The API listens on 9090.", ("8080", "9090"), True),
        ("The user drinks coffee with milk and sugar.", "The user drinks coffee black.", ("milk", "black"), False),
        ("Her doctor is Dr. Sommer.", "Her doctor is Dr. Achterberg.", ("Sommer", "Achterberg"), False),
        (
            "Kita Sonnenhof takes Noah from 4 January.",
            "Kita Sonnenhof has no staff; Noah's start is now 1 February.",
            ("Kita Sonnenhof takes … 4 January", "start is now 1 February"),
            False,
        ),
        ("Der Nutzer wohnt in Köln und arbeitet bei Siemens.", "Der Nutzer wohnt in Bonn.", ("Köln", "Bonn"), True),
    ],
)
def test_what_differs_is_told_and_whether_the_older_one_says_more(
    older: str, newer: str, parts: tuple[str, str], *, more: bool
) -> None:
    assert parts_that_differ(older, newer) == parts
    assert bool(said_besides(older, newer)) is more


def test_what_two_notes_say_when_read_together_moves_what_their_words_make_likely() -> None:
    older, newer = "The till runs on Vend.", "Lightspeed is what we have at the till."
    said = [likelihood_together(older, newer, 0.6, ReadTogether(odds, -5.0)) for odds in (-6.0, 0.0, 6.0, 60.0)]
    assert said[0] < said[1] < said[2] == said[3]
    assert said[0] < FOLDED < said[2]


def test_records_of_what_took_place_are_no_versions_whatever_is_read() -> None:
    older, newer = "Met Ines at the pier on 3 May 2026.", "Met Jonas at the pier on 9 May 2026."
    assert likelihood_together(older, newer, 0.9, ReadTogether(6.0, 0.0)) < FOLDED


def test_what_was_not_read_to_its_end_may_go_ahead_by_its_words_too() -> None:
    short, long = "Stream PAYMENTS keeps 30 days.", "Events go over one stream. " * 8 + "Stream PAYMENTS keeps 14 days."
    assert as_read(0.01, 3.0, short, short).odds < 3.0
    assert as_read(0.01, 3.0, long, short).odds == 3.0
    assert as_read(0.99, 3.0, long, short).odds > 3.0
    assert as_read(0.01, 3.0, long, short).likely < FOLDED


@pytest.mark.parametrize(
    ("likely", "said_later", "is_overtaken"),
    [
        ({("part", "new"): FOLDED}, "2026-07-01", True),
        ({("part", "new"): FOLDED - 0.1}, "2026-07-01", False),
        ({("part", "new"): 1.0}, "2026-04-01", False),  # before the last of what it was made of
        ({("part", "new"): 1.0, ("whole", "new"): 1.0}, "2026-07-01", False),  # which replaced it
        ({("another", "new"): 1.0}, "2026-07-01", False),
        ({("part", "other part"): 1.0}, "2026-07-01", False),  # it was made of both
        ({("part", "whole"): 1.0}, "2026-07-01", False),
        ({("part", "hidden"): 1.0}, "2026-07-01", False),
    ],
)
def test_what_was_made_of_several_is_overtaken_by_a_later_version_of_one_of_them(
    likely: dict[tuple[str, str], float], said_later: str, *, is_overtaken: bool
) -> None:
    wholes = {"part": ["whole"], "other part": ["whole"]}
    said = {"part": "2026-03-01", "other part": "2026-06-01", "whole": "2026-05-01", "new": said_later}
    found = overtaken(wholes, likely, said | {"another": "2026-03-01"})
    assert found == ({("whole", "new"): ["other part"]} if is_overtaken else {})


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The launch is planned for 3 May.", "The launch was set for 10 May."),
        ("The launch is planned for 3 May.", "The launch was postponed to 10 May in the end."),
        ("The dentist appointment is scheduled for Tuesday.", "The dentist appointment was put off to Thursday."),
        ("The flight to Oslo is due at 14:10.", "The flight to Oslo is at 15:40."),
        ("The recommended dose of Ramipril is 5 mg.", "The Ramipril dose was adjusted to 10 mg."),
        ("Team standup was at 9:00.", "Team standup is scheduled for 9:30."),
        ("The API quota was 1000 requests per minute.", "The API quota is expected to be 2000 requests per minute."),
        ("Die Abgabe ist am Freitag vorgesehen.", "Die Abgabe war am Freitag, sie ist am Montag."),
        ("Node 18 is required to build the app.", "Node 20 is required to build the app."),
        ("Sprint 12 is the current sprint.", "Sprint 13 is the current sprint."),
    ],
)
def test_what_was_read_as_told_anew_is_not_held_for_a_plan_or_another_thing(older: str, newer: str) -> None:
    assert likelihood_together(older, newer, 0.8, ReadTogether(5.0, -1.0)) >= FOLDED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Harbour runs on PostgreSQL 15.", "TODO: vacuum the PostgreSQL of Harbour."),
        ("TODO: rotate the deploy token of Quayside.", "Upgraded Quayside to Go 1.24 on 30 October."),
        (
            "Harbour was upgraded to PostgreSQL 16.",
            "The PostgreSQL of Harbour crashed on 25 November; a restart helped.",
        ),
        (
            "Tollgate is the auth gateway: Rust, axum, Redis.",
            "Still to do in Tollgate: write the runbook for the keys.",
        ),
    ],
)
def test_what_is_to_be_done_and_what_broke_are_no_versions_of_what_holds(older: str, newer: str) -> None:
    assert likelihood(older, newer, 0.7) == 0.0
    assert likelihood_together(older, newer, 0.7, ReadTogether(9.0, -9.0)) == 0.0


def test_what_broke_and_was_changed_for_it_may_be_a_version() -> None:
    older, newer = "The cache is Redis 7.", "Redis 7 crashed, so the cache is Valkey 8 now."
    assert likelihood(older, newer, 0.7) > 0.0


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Budget for the kitchen renovation: 14,000 euros.", "The kitchen renovation came to 17,350 euros in the end."),
        ("Budget for the new shed: 1,200 euros.", "The new shed came to 1,460 euros in the end."),
        ("The train to Basel is scheduled to arrive at 16:47.", "The train to Basel arrived at 18:20."),
        ("Grandpa takes 20 mg of statin.", "Grandma takes 40 mg of statin."),
        ("Jost drinks his coffee black.", "Maren takes oat milk in her coffee."),
        ("Weekly meeting: Thursday 07:45", "3 December, 10:00: the auditor is in the house, tour at eleven."),
        ("Felix is allergic to cashews.", "Allergy test for Felix: birch pollen strongly positive."),
        ("Bright tank 1 holds 3000 litres.", "Bright tank 2 holds 2000 litres."),
        ("The handrail of stair A is oak.", "The handrail of stair B is steel."),
        ("Access point upstairs: channel 36", "Access point downstairs: channel 100, as the neighbour has a mesh."),
        (
            "Gold merchants are promised 99.95 % of the time.",
            "Silver merchants get 99.5 % in the contract, no penalties.",
        ),
    ],
)
def test_a_plan_and_what_came_of_it_and_two_that_a_word_tells_apart_are_none_whatever_was_read(
    older: str, newer: str
) -> None:
    assert likelihood_together(older, newer, 0.9, ReadTogether(5.0, -1.0)) == 0.0


SERIES = (
    ("The meter in May: 212 kWh.", "The meter in June: 187 kWh."),
    ("Revenue in March was 12,400 euros.", "Revenue in April was 13,100 euros."),
    ("Blood pressure on 3 May: 128 over 82.", "Blood pressure on 10 May: 131 over 85."),
    ("I paid the rent on 1 December.", "I paid the rent on 30 December."),
    ("Die Miete ist am 1. Dezember bezahlt.", "Die Miete ist am 30. Dezember bezahlt."),
    ("Holiday cover: Ivo, 4 to 10 January.", "Holiday cover: Jana, 11 to 17 January."),
    ("Urlaubsvertretung: Ivo, 4. bis 10. Januar.", "Urlaubsvertretung: Jana, 11. bis 17. Januar."),
    ("INC-311: the payment queue was stuck for 20 minutes.", "INC-314: the payment queue was stuck for 45 minutes."),
    ("Sprint 41 delivered 23 points.", "Sprint 42 delivered 31 points."),
    ("Release 3.1 went out without incidents.", "Release 3.2 went out with two incidents."),
    ("Version 2.4 was published without problems.", "Version 2.5 was published without problems."),
    ("Invoice 2026-0041 to Elbe GmbH: 1200 euros.", "Invoice 2026-0057 to Elbe GmbH: 900 euros."),
    ("Audit of Q1: 4 findings.", "Audit of Q2: 7 findings."),
    ("Sprint 41: 23 Punkte.", "Sprint 42: 31 Punkte."),
)
NO_SERIES = (
    ("The deadline is 3 May.", "The deadline is 10 May."),
    ("The meeting is in May.", "The meeting is in June."),
    ("Ivo is on leave from 4 to 10 January.", "Ivo is on leave from 11 to 17 January."),
    ("The festival is 4 to 10 January.", "The festival is 11 to 17 January."),
    ("The next payment is due on 1 December.", "The next payment is due on 30 December."),
    ("The contract ends in March and costs 12 euros.", "The contract ends in June and costs 14 euros."),
    ("From 1 May the fee is 12 euros.", "From 1 June the fee is 14 euros."),
    ("Fee from May 12 euros.", "Fee from June 14 euros."),
    ("The fee in 2025: 40 euros.", "The fee in 2026: 45 euros."),
    ("Fee in May: 12 euros.", "Fee in June: now 14 euros."),
    ("Release v2.3 is deployed.", "Release v2.4 is deployed."),
    ("Release 3.1 was deployed on Monday.", "Release 3.2 was deployed on Friday."),
    ("Release 3.1 went out without incidents.", "We are on release 3.2 now."),
    ("Sprint 41 ends on Friday.", "Sprint 42 ends on Friday."),
    ("The rent in 2025: 900 euros.", "The rent in 2026: 950 euros."),
    ("From version 2.4 on: 3 licences.", "From version 2.5 on: 4 licences now."),
)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My son Mats wears shoe size 28.", "The shoe size of my father is 44."),
        ("My daughter Elin wears shoe size 31.", "My niece Aino wears shoe size 25."),
        ("Meine Tante wohnt in Kiel.", "Unser Onkel wohnt in Bremen."),
        ("Tenors are led by Jorge Padilla.", "Altos are led by Renate Uhl."),
    ],
)
def test_what_is_told_of_two_relatives_or_of_two_voices_are_no_versions(older: str, newer: str) -> None:
    assert likelihood_together(older, newer, 0.9, ReadTogether(6.0, -6.0)) == 0.0


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My mother lives in Leicester.", "Our mum moved to Loughborough."),
        ("My son wears shoe size 28.", "My son Mats wears shoe size 30 now."),
        ("The tenors are led by Jorge.", "The tenors are led by Uwe."),
        ("My emergency contact is my mother.", "My emergency contact is now my brother."),
        ("The spare key is with my mother.", "The spare key is with my sister."),
        ("I live with my brother.", "I live with my wife now."),
        ("Jenkins runs our CI.", "GitLab runs our CI."),
        ("Son adresse est 4 rue Haute.", "Son adresse est 5 rue Basse."),
    ],
)
def test_another_relative_or_thing_may_be_what_is_told_anew(older: str, newer: str) -> None:
    assert likelihood_together(older, newer, 0.9, ReadTogether(6.0, -6.0)) >= FOLDED


@pytest.mark.parametrize(("older", "newer"), SERIES)
def test_entries_of_a_series_are_no_versions_however_alike_they_read(older: str, newer: str) -> None:
    assert are_entries(older, newer)
    assert evidence(older, newer, 0.9).siblings
    assert likelihood_together(older, newer, 0.9, ReadTogether(6.0, -6.0)) == 0.0


@pytest.mark.parametrize(("older", "newer"), NO_SERIES)
def test_another_day_that_is_what_is_told_makes_no_entry_of_a_series(older: str, newer: str) -> None:
    assert not are_entries(older, newer)


@pytest.mark.parametrize(
    ("older", "newer", "is_one_more"),
    [
        ("Edgar's supervisor is Dr. Stein.", "Edgar's second supervisor is Dr. Amsel.", True),
        ("Die Betreuerin von Edgar ist Frau Stein.", "Die zweite Betreuerin von Edgar ist Frau Amsel.", True),
        ("Edgar's second supervisor is Dr. Stein.", "Edgar's second supervisor is Dr. Amsel.", False),
        ("Edgar's supervisor is Dr. Stein.", "Edgar has another supervisor now: Dr. Amsel.", False),
        ("The office is on the first floor.", "The office is on the second floor, beside Dr. Amsel.", False),
        ("There are two spare batteries.", "There is a second spare battery.", False),
    ],
)
def test_a_second_one_with_a_name_of_its_own_is_no_version_whatever_is_read(
    older: str, newer: str, *, is_one_more: bool
) -> None:
    likely = likelihood_together(older, newer, 0.8, ReadTogether(6.0, -6.0))
    assert likely == 0.0 if is_one_more else likely > 0.2


@pytest.mark.parametrize(
    ("older", "newer", "is_one"),
    [
        ("Eline eats no fish.", "Eline stopped smoking in spring.", False),
        ("Eline smokes ten a day.", "Eline stopped smoking in spring.", True),
        ("The props budget is kept by Sverre.", "Sverre gave up the props budget, Ingunn has it.", True),
        ("The printer in 1.07 takes 40 sheets.", "The printer in 2.03 takes 90 sheets.", False),
        ("The printer in 1.07 takes 40 sheets.", "The printer in 1.07 takes 90 sheets.", True),
    ],
)
def test_what_stopped_is_what_the_older_tells_of_and_a_room_is_that_room(
    older: str, newer: str, *, is_one: bool
) -> None:
    assert (likelihood_together(older, newer, 0.8, ReadTogether(6.0, -6.0)) > 0.5) is is_one


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The production database is in Bonn.", "The prod database is in Kiel."),
        ("The dev server is in Bonn.", "The development server is in Kiel."),
        ("The yearly fee is 40 euros.", "The annual fee is 50 euros."),
        ("The max size is 4 MB.", "The maximum size is 8 MB."),
        ("Big orders need approval by Ann.", "Large orders need approval by Ben."),
    ],
)
def test_two_words_for_one_thing_make_no_two_things(older: str, newer: str) -> None:
    """Whatever else is to be said of it: what is read together may tell that one is the other told anew."""
    assert likelihood(older, newer, 0.85) > 0.0


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The dev server is in Bonn.", "The prod server is in Kiel."),
        ("The yearly fee is 40 euros.", "The monthly fee is 4 euros."),
        ("Big orders need approval by Ann.", "Small orders need approval by Ben."),
    ],
)
def test_of_two_words_for_its_like_each_is_a_thing_of_its_own(older: str, newer: str) -> None:
    assert likelihood(older, newer, 0.85) == 0.0


def test_what_reading_two_languages_together_tells_counts_for_nothing() -> None:
    """It has read English alone: a course in Spanish was taken for the tour, at another price."""
    tour, course = "The price of the tour is 40 euros.", "El precio del curso es de 120 euros."
    read = [likelihood_together(tour, course, 0.5, ReadTogether(odds, -5.0)) for odds in (-6.0, 6.0)]
    assert read == [likelihood(tour, course, 0.5)] * 2
    assert likelihood_together(tour, "The price of the tour is 55 euros.", 0.9, ReadTogether(6.0, -5.0)) >= FOLDED


def test_a_name_that_is_grammar_elsewhere_makes_no_other_language_of_an_english_text() -> None:
    older, newer = "Elspeth Ward: non weight bearing, crutches.", "Surgeon cleared Elspeth for full load."
    likely = [likelihood_together(older, newer, 0.6, ReadTogether(odds, -5.0)) for odds in (-6.0, 6.0)]
    assert likely[0] < likely[1]
