"""Deliberate breaks of the code, at least one for each promise, and the tests that must notice them.

`python tests/mutations.py` tries them all, each in a copy of the project, and says which test caught it.
"""

from __future__ import annotations

import sys

from mutate import Mutation, main

_CUTS = "tests/crash/test_power_cuts.py::"
CUT = f"{_CUTS}test_a_power_cut_at_any_step_leaves_all_old_or_all_new_and_keeps_what_was_acknowledged"
CUT_NEW, CUT_REWRITE = f"{CUT}[forwards-exchanged-a new note]", f"{CUT}[forwards-exchanged-a rewrite]"
CUT_THREE = f"{CUT}[forwards-exchanged-three notes rewritten]"
CUT_LINKED = f"{CUT}[forwards-linked-three notes rewritten]"
CUT_BACKWARDS = f"{CUT}[backwards-exchanged-a new note]"
CUT_AND_KILL = f"{_CUTS}test_a_power_cut_after_a_kill_loses_nothing_that_the_next_process_settled_or_acknowledged"
CUT_UNDONE = f"{CUT_AND_KILL}[a new note, a rewrite and a deletion-True]"
CUT_KILLED = f"{CUT_AND_KILL}[a new note, a rewrite and a deletion-False]"
CUT_KILLED_REWRITE = f"{CUT_AND_KILL}[a rewrite-False]"
CUT_FIRST = f"{_CUTS}test_a_power_cut_while_a_memory_begins_leaves_all_of_its_first_notes_or_none"

_FAULTS = "tests/crash/test_write_faults.py::"
REFUSED = f"{_FAULTS}test_when_the_index_refuses_the_files_are_put_back"
EDITOR = f"{_FAULTS}test_what_an_editor_saves_between_any_two_steps_is_never_lost"
FORTY = "tests/crash/test_kill.py::test_a_kill_while_one_note_replaces_forty_leaves_all_of_them_replaced_or_none"
NUMBER = "tests/crash/test_processes.py::test_a_number_that_a_killed_process_gave_to_a_note_is_not_given_again"
FOUR = "tests/crash/test_processes.py::test_four_processes_on_one_folder_lose_and_double_nothing_and_see_each_other"

TRUTHFUL = (
    "tests/crash/test_answer_faults.py::"
    "test_no_answer_says_that_nothing_happened_when_something_did_nor_the_other_way_round"
)
_CALLS = "tests/contract/test_admin_calls.py::"
REAL_CUT = (
    "tests/crash/test_real_power_cuts.py::"
    "test_what_was_acknowledged_is_there_after_the_power_went_and_what_was_refused_is_not[ordered]"
)

_JOURNAL = "tests/unit/test_journal.py::"
_LOCKS = "tests/unit/test_locks.py::"
_LONG = "tests/crash/test_long_journal.py::"
_ENCODING = "tests/unit/test_encoding.py::"
_FRONTMATTER = "tests/unit/test_frontmatter.py::"
_IN_PLACE = "tests/crash/test_saves_in_place.py::"
_AFTERWARDS = f"{_IN_PLACE}test_what_an_editor_saves_after_the_change_stands_or_is_filed_and_reported"
_EDITS = "tests/contract/test_hand_edits.py::"
_DELETED = "tests/contract/test_index_deleted.py::"
_RECALL = "tests/contract/test_recall.py::"
_REMEMBER = "tests/contract/test_remember.py::"
_MOVES = "tests/contract/test_moves.py::"
_OUTDATED = "tests/contract/test_mark_outdated.py::"
_JOBS = "tests/contract/test_jobs.py::"
_FORGETTING = "tests/unit/test_forgetting.py::"
_UNDO, _PURGE = "tests/contract/test_admin_undo.py::", "tests/contract/test_admin_purge.py::"
_FEEDBACK = "tests/contract/test_submit_feedback.py::"
_MAINTENANCE = "tests/contract/test_maintenance.py::"
_COMMANDS = "tests/contract/test_command_line.py::"
_INSTALL = "tests/contract/test_install.py::"
_DOCTOR = "tests/contract/test_doctor.py::"
_OMI = "tests/contract/test_omi_memory.py::"
_BELIEFS = "tests/contract/test_belief_update.py::"
_RUNNING = "tests/contract/test_running.py::"
_FORMS, _EARLY = "tests/contract/test_forms.py::", "tests/contract/test_early.py::"
_TENANCY = "tests/contract/test_tenancy.py::"
_TENANTS = "tests/unit/test_tenants.py::"
_LOG = "tests/contract/test_log.py::"
_FUZZ = "tests/hostile/test_fuzz.py::"
_FILES = "tests/hostile/test_files.py::"
_SOAK = "tests/hostile/test_soak.py::"
_ATTACKS = "tests/hostile/test_http_attacks.py::"
_LIMITS = "tests/unit/test_limits.py::"
_GOLDEN = "tests/house/test_tools_golden.py::"
LEFT_OUT = f"{_OUTDATED}test_a_note_leaves_recall_and_stays_readable"
SUPERSEDED = f"{_RECALL}test_a_superseded_note_comes_behind_its_successor_however_well_it_fits"
ENCODER_TROUBLE = f"{_ENCODING}test_a_note_is_kept_and_found_by_its_words_whatever_the_encoder_does"
CLEAN_END = f"{_RUNNING}test_the_end_of_input_is_the_end_of_the_server"

_USE_COUNTED = """    event, unrated = await kept_event(ports, caller, asking, shown)
    from holdfast.engine.commit import commit, load_current
    from holdfast.store.stored import Change
    indexed = await ports.index.notes([hit.note.id for hit in found.hits])
    for hit in found.hits:
        async with ports.store.hold({hit.note.id}):
            stored = await load_current(ports, indexed[hit.note.id])
            used = replace(stored.note, confidence=stored.note.confidence * 0.99)
            await commit(ports, caller, "use", [Change(stored, used)])
"""
_ENCODE_TIMED = """        try:
            with anyio.fail_after(_patience(speaker, deadline)):
                [chunks] ="""
_FLUSH = "await together(*(partial(self._flushes.submit, folder) for folder in _parents(steps)))\n"

# fmt: off
MUTATIONS = (
    # 1. Files are the truth.
    Mutation("index-loss-unseen", 1, "a deleted index goes on being used", "index/note_index.py",
             " or self._identity != self._on_disk()\n", "\n",
             (f"{_DELETED}test_after_a_deletion_while_it_runs_every_answer_is_the_same",)),
    Mutation("index-harm-unseen", 1, "a harmed index is an error for good", "index/note_index.py",
             "    except sqlite3.DatabaseError as error:\n        raise IndexHarmedError(str(error)) from error",
             "    except sqlite3.DatabaseError as error:\n        raise _refusal(error) from error",
             (f"{_DELETED}test_a_database_that_is_harmed_in_place_ends_no_server_and_is_rebuilt",)),
    Mutation("index-signs-unseen", 1, "a harmed index is taken for a busy one", "index/note_index.py",
             "if any(sign in str(error) for sign in _SIGNS_OF_HARM):", "if False:",
             (f"{_FUZZ}test_a_harmed_index_is_noticed_and_answers_are_those_of_the_files",)),
    Mutation("history-only-in-index", 1, "a new index knows no history", "engine/replay.py",
             "            self._history += item.history\n", "",
             (f"{_DELETED}test_after_a_deletion_while_it_sleeps_every_answer_is_the_same",)),
    Mutation("feedback-only-in-index", 1, "a new index knows no feedback", "engine/replay.py",
             "            self._feedback.append(given)", "            pass",
             (f"{_FEEDBACK}test_a_deleted_index_forgets_nothing_of_it",)),
    Mutation("uses-only-in-index", 1, "a new index knows no use of a note", "engine/replay.py",
             "            self._uses.append(use)", "            pass",
             (f"{_JOBS}test_a_use_counts_once_a_day_and_outlives_the_index",)),
    Mutation("jobs-in-every-process", 3, "two processes tend a folder at a time", "engine/housekeeping.py",
             "if not mine:", "if False:",
             (f"{_JOBS}test_another_process_takes_over_when_the_one_that_tends_is_killed",)),
    Mutation("promoted-unused", 4, "archival notes are rewritten though nobody used them", "engine/jobs.py",
             'note.tier == "archival" and was_used_since(note) and', 'note.tier == "archival" and',
             (f"{_JOBS}test_a_note_that_nobody_uses_goes_to_archival_after_a_week_and_comes_back_with_its_use",)),
    Mutation("reason-only-in-index", 1, "why a note is outdated is not in its file", "store/codec.py",
             '        "outdated_reason": note.outdated_reason,\n', "",
             (f"{_OUTDATED}test_the_same_call_again_changes_nothing_and_has_nothing_to_undo",)),
    Mutation("vectors-not-kept", 1, "a new index encodes everything again", "encode/cache.py",
             "await self._on_thread(self._keep, made_with, fresh)", "pass",
             (f"{_DELETED}test_vectors_come_back_without_encoding_anything_again",)),
    Mutation("judged-only-in-index", 1, "a new index knows no verdict", "engine/replay.py",
             "runs=runs, remembered=kept,", "runs=runs,",
             (f"{_MAINTENANCE}test_what_was_judged_is_known_without_the_index",)),
    Mutation("alias-only-in-index", 1, "what was merged into a note is not in its file", "store/codec.py",
             '        "merged": list(note.merged) or None,\n', "",
             (f"{_MAINTENANCE}test_the_id_of_a_merged_note_means_the_kept_one_everywhere_and_without_the_index",)),
    # 2. Acknowledged means kept.
    Mutation("answered-before-written", 2, "the answer does not wait for the file's rename", "store/writer.py",
             "                self._files.move(step.aside, step.target)\n            elif",
             "                import threading\n"
             "                threading.Timer(0.05, self._files.move, [step.aside, step.target]).start()\n"
             "            elif", (CUT_NEW,)),
    Mutation("answered-before-found", 2, "the answer does not wait for the index", "engine/commit.py",
             "notes=[note_row(stored) for stored in done.stored],", "notes=[],",
             (f"{_REMEMBER}test_what_was_stored_is_found_by_its_words_at_once",)),
    Mutation("text-unflushed", 2, "a new text is not flushed", "store/filesystem.py",
             "                file.flush()\n                os.fsync(handle)\n        except OSError:",
             "                file.flush()\n        except OSError:", (CUT_NEW,)),
    Mutation("names-unflushed", 2, "no folder is flushed", "store/filesystem.py",
             "            os.fsync(handle)\n        finally:", "            pass\n        finally:", (CUT_NEW,)),
    Mutation("journal-unflushed", 2, "the journal is never flushed", "store/filesystem.py",
             "            if flush:\n", "            if False:\n", (CUT_THREE,)),
    Mutation("intent-unflushed", 2, "a change is announced without a flush", "store/journal.py",
             "flush=any(entry.flush for entry in entries)", "flush=False", (CUT_THREE,)),
    Mutation("month-unflushed", 2, "the name of a new month's journal is not flushed", "store/journal.py",
             "                self._files.flush_folder(self._folder)\n", "", (CUT_FIRST,)),
    Mutation("space-unflushed", 2, "the name of a new folder is not flushed", "store/filesystem.py",
             "            self.flush_folder(path.parent)  # whoever made it", "            pass  # whoever made it",
             (CUT_NEW,)),
    Mutation("exchange-unflushed", 2, "the answer does not wait for the folder's flush", "store/writer.py",
             f"{_FLUSH}                yield committed", "yield committed", (CUT_REWRITE,)),
    Mutation("aside-unflushed", 2, "names of new texts that wait aside are not flushed", "store/writer.py",
             "        if len(steps) > 1:  # whoever", "        if False:  # whoever", (CUT_THREE,)),
    Mutation("history-unflushed", 2, "the name of a replaced text is not flushed", "store/swapped.py",
             "        self._files.flush_folder(kept.parent)\n        return text", "        return text",
             (CUT_REWRITE,)),
    Mutation("old-history-unflushed", 2, "the name of a text that a dead process kept is not flushed",
             "store/swapped.py",
             "self._files.flush_folder(kept.parent)  # whoever laid", "pass  # whoever laid", (CUT_KILLED_REWRITE,)),
    Mutation("take-back-unflushed", 2, "what was put back is not flushed", "store/writer.py",
             "            for folder in _parents(exchanged):\n                self._files.flush_folder(folder)\n", "",
             (CUT_UNDONE,)),
    Mutation("second-name-unflushed", 2, "without an exchange of names the new one is not flushed first",
             "store/filesystem.py",
             "        self.flush_folder(current.parent)  # or", "        pass  # or", (CUT_LINKED,)),
    Mutation("settled-unflushed", 2, "what was settled is not flushed", "store/settle.py",
             "            files.flush_folder(parent)", "            pass", (CUT_KILLED,)),
    Mutation("half-changes-stay", 2, "open changes are not settled at the start", "store/notes.py",
             "        for intent in self._intents.all():\n            async with",
             "        for intent in ():\n            async with", (CUT_THREE,)),
    Mutation("restore-forgotten", 2, "a restore whose process died is not carried on", "store/notes.py",
             "return any(map(self._files.exists, (self._folder.restore_plan, self._folder.purge_plan)))",
             "return False",
             (("tests/crash/test_vault_kill.py::"
              "test_a_restore_that_is_killed_at_any_step_is_finished_or_never_happened"),)),
    Mutation("archive-believed", 2, "the texts of a backup are not compared with their hashes", "store/archive.py",
             " or _copied(source, take(member.name, packed)) != packed.sha256:",
             " or not _copied(source, take(member.name, packed)):",
             ("tests/hostile/test_vault_archives.py::test_a_forged_archive_is_refused",)),
    Mutation("half-changes-forgotten", 2, "a half-made change is not carried through", "store/settle.py",
             'if done and state == "pending":', "if False:", (FORTY,)),
    Mutation("settled-text-removed", 2, "settling removes the note and not the text aside", "store/settle.py",
             "        files.remove(aside)\n\n\ndef _carry",
             "        files.remove(folder.absolute(file.path))\n\n\ndef _carry", (CUT_THREE,)),
    Mutation("orphans-stay", 2, "what dead processes laid aside is not removed", "store/notes.py",
             "        await self._sweep()\n", "", (CUT_BACKWARDS,)),
    Mutation("refused-stays", 2, "a change that the index refused stays on the disk", "store/writer.py",
             "for step in reversed(exchanged):", "for step in ():", (REFUSED,)),
    Mutation("torn-line-stays", 2, "a torn journal line is written on", "store/journal.py",
             "self._files.truncate(path, size)  # a torn tail", "pass  # a torn tail",
             (f"{_JOURNAL}test_a_torn_tail_is_cut_off_before_the_next_line",)),
    Mutation("sums-unchecked", 2, "a harmed journal line is believed", "store/journal.py",
             " or zlib.crc32(rest) != int(found.group(1), 16):", ":",
             (f"{_JOURNAL}test_a_line_that_differs_in_any_byte_is_not_read",)),
    Mutation("signal-drops-calls", 2, "a signal ends what is under way", "engine/memory.py",
             "        while self._under_way:\n", "        while False:\n",
             (f"{_RUNNING}test_what_is_under_way_is_carried_out_before_a_memory_stops",)),
    Mutation("note-unflushed", 2, "a new text is not flushed before it has its name", "store/filesystem.py",
             "                os.fsync(handle)\n        except OSError:", "        except OSError:", (REAL_CUT,)),
    # 3. Many processes, one memory.
    Mutation("locks-shared", 3, "two processes hold one lock", "store/locks.py",
             "fcntl.LOCK_EX", "fcntl.LOCK_SH", (f"{_LOCKS}test_processes_do_not_lose_each_others_updates",)),
    Mutation("lock-replaced", 3, "a lock file that was replaced is locked", "store/locks.py",
             "                if self._still_there(handle):", "                if True:",
             (f"{_LOCKS}test_whoever_waits_takes_the_file_that_others_will_lock",)),
    Mutation("strangers-wait", 3, "whoever wants another key of a stripe waits for the one who holds it",
             "store/locks.py", "return self._holders > 0 and", "return False and",
             (f"{_LOCKS}test_tasks_of_one_process_wait_for_nobody_who_holds_another_key",)),
    Mutation("stripe-let-go", 3, "the first task that is done lets go of what others of its process hold",
             "store/locks.py", "        if not self._holders:\n            self._release()",
             "        if True:\n            self._release()",
             (f"{_LOCKS}test_a_stripe_stays_locked_for_other_processes_until_the_last_of_its_keys_is_let_go",)),
    Mutation("journal-read-anew", 3, "every start reads the whole journal", "engine/replay.py",
             "    whole = not known.place\n", "    whole = True\n",
             (f"{_LONG}test_a_start_does_not_read_what_the_index_knows",)),
    Mutation("changed-journal-unseen", 1, "a journal that was replaced is taken for the one that was read",
             "store/position.py", "zlib.crc32(data[:-1]) == position.checksum", "True",
             (f"{_LONG}test_a_journal_that_is_not_the_one_that_was_read_is_read_anew[replace]",)),
    Mutation("open-change-passed", 2, "the index goes on beyond a change that is still open", "engine/replay.py",
             "last = self._last if first is None else first.before", "last = self._last",
             (f"{_LONG}test_an_open_change_is_settled_however_much_was_written_after_it",)),
    Mutation("numbers-doubled", 3, "the journal is not read before it is written", "store/journal.py",
             "            self._read_latest()\n            self._up", "            self._up",
             (f"{_JOURNAL}test_two_journals_in_threads_of_their_own_never_give_a_number_twice",)),
    Mutation("busy-journal-unheard", 3, "who takes a lock while a line is written does not hear of open changes",
             "store/journal.py", "if not self._up_to_date and", "if not self._appends._turn.locked() and",
             (("tests/crash/test_open_changes.py::"
              "test_a_lock_taken_while_the_journal_is_busy_has_no_open_change_behind_it"),)),
    Mutation("edits-ignored", 1, "an edit by hand is not taken in", "engine/reconcile.py",
             "            await self._take_in_news(news)", "            pass",
             (f"{_EDITS}test_an_edited_body_is_found_by_its_new_words_and_no_more_by_its_old_ones",)),
    Mutation("retry-unguarded", 3, "the same call at the same moment stores two notes", "engine/remember.py",
             "keys = {note.id, *wanted.guards, *", "keys = {note.id, *",
             (f"{_REMEMBER}test_calls_at_the_same_moment_store_one_note",)),
    Mutation("case-counts", 3, "the same note in another case is a second one", "model/joining.py",
             'unicodedata.normalize("NFC", content).casefold()', 'unicodedata.normalize("NFC", content)',
             (f"{_REMEMBER}test_the_same_note_much_later_and_in_another_case_and_spacing_is_the_same",)),
    Mutation("retired-is-same", 5, "what was retired and is said again is answered with the retired note",
             "index/rows.py", "content_key = :key AND NOT outdated AND", "content_key = :key AND",
             (f"{_REMEMBER}test_what_was_retired_and_is_stored_again_is_a_new_statement",)),
    Mutation("tags-not-joined", 3, "what is told of a note again is forgotten", "engine/remember.py",
             "changes = [*([Change(before, note)] if join.added else []), *retired]", "changes = [*retired]",
             (f"{_REMEMBER}test_what_is_told_of_it_besides_is_joined_as_one_change_that_can_be_undone",)),
    Mutation("import-doubles", 3, "what is here already is stored again by an import", "engine/importing.py",
             "same = None if note.id in known else self._same(", "same = None if note else self._same(",
             (f"{_MOVES}test_what_is_here_already_is_not_stored_again_by_an_import",)),
    Mutation("stale-comes-back", 5, "what Ormah superseded comes back as current", "store/sources/ormah.py",
             "        superseded_by=successor,\n", "",
             (f"{_MOVES}test_what_ormah_superseded_or_deleted_does_not_come_back_as_current",)),
    Mutation("one-wrong-refuses-all", 7, "one wrong verdict refuses all the others", "tools/maintenance.py",
             "        return WrongVerdict(sentence_of(error))", "        raise",
             (("tests/contract/test_maintenance.py::"
              "test_a_wrong_verdict_is_named_by_its_place_and_the_others_are_applied"),)),
    Mutation("logged-twice", 2, "a completion that leaves NOW is logged again", "engine/now.py",
             'return [item for item in moved if f"- [x] {item}" not in lines]', "return list(moved)",
             ("tests/contract/test_now.py::test_what_leaves_the_file_is_in_one_log_once_however_late_it_leaves",)),
    Mutation("replaced-twice", 3, "a note that was replaced before is replaced again", "engine/remember.py",
             "current = [item for item in old if item.note.superseded_by is None]", "current = list(old)",
             (f"{_REMEMBER}test_what_was_replaced_before_keeps_its_first_successor_and_the_answer_says_so",)),
    Mutation("dead-unheard", 3, "what a dead process did and did not index is not looked for", "engine/remember.py",
             "        await check_known(ports, made)\n        place = await ports.index.place(note, ports.now)\n",
             "        place = await ports.index.place(note, ports.now)\n", (NUMBER,)),
    Mutation("store-unguarded", 3, "the keys that a change holds are not locked", "store/notes.py",
             "            async with self._stripes.hold(wanted):", "            if True:", (FOUR,)),
    Mutation("belief-unlocked", 3, "updates of one belief run into each other", "engine/believe.py",
             "    async with ports.store.hold({belief.note.id, cited.note.id}) as made:",
             "    async with ports.store.hold(()) as made:",
             ("tests/crash/test_beliefs.py::test_eight_servers_that_update_one_belief_lose_nothing",)),
    Mutation("belief-in-two", 3, "a belief and its evidence change one after the other", "engine/believe.py",
             "            changes.append(Change(source, citing))\n",
             '            await commit(ports, caller, "belief_update", [Change(source, citing)])\n',
             (f"{_BELIEFS}test_both_notes_change_in_one_step",)),
    # 4. Reading never writes your notes.
    Mutation("use-counted", 4, "recall writes into the notes that it shows", "engine/recall.py",
             "    event, unrated = await kept_event(ports, caller, asking, shown)\n", _USE_COUNTED,
             (f"{_RECALL}test_recall_changes_no_file_of_a_note",)),
    Mutation("id-rewrites-file", 4, "a file that is given its id is written anew", "store/codec.py",
             "    return head + line.encode() + data[len(head) :]",
             '    return document.with_values({**document.values, "id": note_id}).render()',
             ("tests/unit/test_codec.py::test_an_id_is_added_and_no_other_byte_is_touched",)),
    Mutation("id-at-once", 4, "a file that is still being written is given its id", "engine/reconcile.py",
             "STILL_SECONDS = 1.0", "STILL_SECONDS = 0.0",
             (f"{_EDITS}test_a_new_file_that_is_still_being_written_is_left_alone",)),
    Mutation("lines-tidied", 4, "a change tidies lines that it does not concern", "store/frontmatter.py",
             "            result.append((key, text))", '            result.append((key, text.rstrip() + "\\n"))',
             (f"{_FRONTMATTER}test_a_comment_outlives_the_key_above_it_but_not_the_value_it_stands_in",
              f"{_FUZZ}test_any_file_is_a_note_that_survives_its_rewriting_or_is_malformed")),
    Mutation("edit-overwritten", 4, "a save between two steps is lost", "store/writer.py",
             "            if before is not None and content_hash(", "            if False and content_hash(",
             (f"{EDITOR}[a rewrite-by_rename]",)),
    Mutation("own-texts-kept", 3, "every text that a long journal tells of stays in memory", "store/stillness.py",
             " and len(self._own) <= _MOST", "",
             (("tests/unit/test_stillness.py::"
              "test_what_a_long_journal_tells_costs_the_same_for_each_line_and_takes_little_memory"),)),
    Mutation("saving-ignored", 4, "a file is rewritten while another program saves it", "store/stillness.py",
             "        if left > 0:", "        if False:",
             (f"{_IN_PLACE}test_what_is_being_saved_is_not_rewritten_until_it_is_still[rewrite-cut]",)),
    Mutation("swapped-removed", 4, "what was swapped out goes while somebody has it open", "store/swapped.py",
             "            if alone:\n                self._files.remove(path)\n                return True",
             "            self._files.remove(path)\n            return True",
             (f"{_AFTERWARDS}[rewrite-opened-saved once-alive-who has a file open is known]",)),
    Mutation("swapped-forgotten", 4, "a start does not look at what was swapped out", "store/notes.py",
             "                if plan is not None:\n                    self._swapped.found",
             "                if False:\n                    self._swapped.found",
             (f"{_AFTERWARDS}[rewrite-opened-saved once-killed-who has a file open is known]",)),
    Mutation("emptied-forgotten", 4, "the last text of an emptied file is kept nowhere", "engine/intake.py",
             "        await self._keep_texts(holders)\n", "",
             (("tests/contract/test_saves_in_place.py::"
              "test_the_text_of_a_file_that_was_emptied_or_cut_goes_to_the_history_and_that_is_said[empty]"),)),
    Mutation("given-forgotten", 4, "an id that was given is written nowhere", "engine/intake.py",
             "            await self._keep_given(update.notes)\n", "",
             (("tests/crash/test_given_ids.py::"
              "test_a_link_to_a_hand_made_file_holds_after_a_kill_without_the_index"),)),
    Mutation("unwritten-unread", 4, "nothing answers where nothing can be written", "engine/reconcile.py",
             "        if not reason or not self.ports.store.is_there:", "        if True:",
             (("tests/crash/test_reading_only.py::"
              "test_a_folder_that_may_not_be_written_is_read_whether_there_is_an_index_or_not[gone-all]"),)),
    Mutation("name-taken", 4, "a rename replaces what somebody saved in that moment", "store/filesystem.py",
             "os.fsencode(target), _RENAME_NOREPLACE)", "os.fsencode(target), 0)",
             ("tests/unit/test_filesystem.py::test_a_move_never_replaces_what_appears_in_that_moment[renamed]",)),
    # 5. Corrections win.
    Mutation("outdated-unmarked", 5, "mark_outdated marks nothing", "engine/outdate.py",
             "            outdated=True,\n            outdated_reason", "            outdated_reason", (LEFT_OUT,)),
    Mutation("correction-behind", 5, "a replaced note stands before the one that replaced it", "engine/answer.py",
             "    return _newest_first(view, ranked, chains, asking.question)", "    return ranked", (SUPERSEDED,)),
    Mutation("replaced-current", 5, "a replaced note does not say until when it held", "engine/remember.py",
             "        valid_until=old.note.valid_until or note.event_time or now,\n", "",
             (f"{_REMEMBER}test_a_superseded_note_is_closed_in_the_same_step",)),
    Mutation("outdated-beside", 5, "outdated notes come back as related", "engine/answer.py",
             "        (current or wanted.include_outdated)\n", "        True\n",
             (f"{_RECALL}test_filters_hold_for_related_notes_too",)),
    Mutation("past-remembered", 5, "a question about the past is answered with what was replaced", "engine/omi.py",
             "question=replace(asking.question, past=False)", "question=asking.question",
             (f"{_OMI}test_what_is_no_longer_true_is_absent",)),
    # 6. Silence over noise.
    Mutation("no-threshold", 6, "min_relevance is not looked at", "engine/omi.py",
             "relevance_of(item) >= request.min_relevance", "relevance_of(item) >= 0.0",
             (f"{_OMI}test_only_what_is_relevant_enough_is_shown",)),
    Mutation("no-gate", 6, "something is always returned", "model/ranking.py",
             "GATE = 0.19", "GATE = 0.0",
             (f"{_RECALL}test_explain_shows_the_nearest_when_nothing_is_relevant",)),
    Mutation("dislike-silences", 6, "what is disliked takes a whole answer away", "model/ranking.py",
             "for item in shown) else []", "for item in shown[:limit]) else []",
             (f"{_FEEDBACK}test_dislikes_do_not_silence_an_answer_that_has_room_for_one_note_only",)),
    Mutation("rare-word-silenced", 2, "a rare word that a note holds counts as any other", "model/ranking.py",
             "    worth = max(worth, floor)\n", "",
             (("tests/contract/test_recall_identifiers.py::"
               "test_a_rare_word_finds_its_note_first_and_strong[50000-vectors]"),)),
    Mutation("one-spelling", 2, "an identifier is found in its own spelling alone", "model/identifiers.py",
             'ways = [parts, steps, ["".join(steps)], paired]', "ways = [parts]",
             (("tests/contract/test_recall_identifiers.py::"
               "test_an_identifier_is_found_in_any_spelling[PROJ-3227-asked0]"),)),
    Mutation("no-weak", 6, "what is doubtful is not marked", "model/ranking.py",
             "WEAK = 0.45", "WEAK = 0.0", (f"{_RECALL}test_a_doubtful_hit_is_marked_as_weak_in_both_forms",)),
    Mutation("no-sentence", 6, "nothing found is not said", "tools/render.py",
             "Nothing relevant is stored. Asked", "Asked",
             (f"{_RECALL}test_nothing_relevant_is_said_in_a_sentence_and_returns_nothing",)),
    # 7. No model needed, none called behind your back.
    Mutation("encoder-needed", 7, "a note is refused where the encoder fails", "engine/encoding.py",
             '            notice = notice or f"Found by words only: {error}"', "            raise",
             (f"{ENCODER_TROUBLE}[breaks]",)),
    Mutation("encoder-needed-to-ask", 7, "a question is refused where the encoder fails", "engine/encoding.py",
             "            problems.append(str(error))", "            raise",
             (f"{ENCODER_TROUBLE}[breaks]",)),
    Mutation("model-unchecked", 7, "any file is loaded as the model", "encode/builtin.py",
             "    if found != sha256:", "    if False:",
             ("tests/unit/test_builtin_encoder.py::test_a_file_with_another_hash_is_refused",)),
    Mutation("called-home", 7, "the model is looked for on the network", "encode/builtin.py",
             "    path = path or _packaged()\n",
             '    import socket\n    socket.create_connection(("localhost", 9))\n    path = path or _packaged()\n',
             (f"{_RECALL}test_storing_and_searching_by_meaning_ask_nothing_of_the_network",)),
    Mutation("runtime-reports", 7, "the model's runtime reports to its makers", "encode/builtin.py",
             '    os.environ["ORT_DISABLE_TELEMETRY"] = "1"', '    os.environ["ORT_DISABLE_TELEMETRY"] = "0"',
             (f"{_RECALL}test_the_runtime_of_the_model_reports_nothing_to_its_makers",)),
    # 8. It is never in the way.
    Mutation("model-first", 8, "the model is loaded before discovery", "app.py",
             "    provider = _provider(settings)\n",
             "    provider = _provider(settings)\n    import numpy, onnxruntime\n",
             (f"{_RUNNING}test_discovery_is_answered_before_any_model_is_loaded",)),
    Mutation("encoder-waited-for", 8, "a store waits for an encoder that is dead", "engine/encoding.py",
             _ENCODE_TIMED, _ENCODE_TIMED.replace("_patience(speaker, deadline)", "None"),
             (f"{ENCODER_TROUBLE}[hangs]",)),
    Mutation("backlog-waited-for", 8, "a store stands in line behind a long backlog", "engine/encoding.py",
             "        if speaker.encoder.backlog > DEEP_BACKLOG:", "        if False:",
             (f"{_ENCODING}test_a_note_does_not_stand_in_line_behind_a_deep_backlog",)),
    Mutation("signal-waits", 8, "a signal waits for a memory that does not close", "running.py",
             "                    threading.Timer(STOP_SECONDS, os._exit, [0]).start()\n", "",
             (f"{_RUNNING}test_a_memory_that_does_not_close_does_not_keep_the_server",)),
    Mutation("stays-behind", 8, "a server outlives its client", "running.py",
             "            tasks.cancel_scope.cancel()\n", "            pass\n", (CLEAN_END,)),
    # Hostile input.
    Mutation("deep-yaml", "hostile", "YAML may be nested without end", "store/frontmatter.py",
             "_DEEPEST = 32", "_DEEPEST = 10**9",
             (f"{_FRONTMATTER}test_deep_nesting_is_refused_and_neither_crashes_nor_hangs_the_process",)),
    Mutation("alias-bomb", "hostile", "YAML aliases are followed", "store/frontmatter.py",
             "if isinstance(event, yaml.AliasEvent):", "if False:",
             (f"{_FRONTMATTER}test_an_alias_bomb_is_refused_before_it_grows",)),
    Mutation("journal-believed", "hostile", "a journal may name files outside the folder", "store/journal.py",
             "        and all(_is_inside(str(name)) for name in names)\n", "",
             (f"{_JOURNAL}test_a_line_that_names_a_file_outside_the_folder_is_not_read",)),
    Mutation("harmed-recalls", "fuzz", "a harmed log of recalls is never replaced", "index/recalls.py",
             "                self._discard()\n", "",
             (f"{_FUZZ}test_harmed_caches_beside_the_index_are_started_anew",)),
    Mutation("bad-time", "fuzz", "what is no time ends a call with another error", "engine/arguments.py",
             "    except ValueError:  # its words repeat the value", "    except TypeError:",
             (f"{_RECALL}test_a_bad_argument_is_refused_and_its_value_is_not_repeated",)),
    Mutation("own-errors", "fuzz", "tools end with errors that have no name", "tools/errors.py",
             "        raise ToolError(on_one_line(error.public, LONGEST_FAILURE)) from None", "        raise",
             (f"{_RECALL}test_a_bad_argument_is_refused_and_its_value_is_not_repeated",)),
    Mutation("fifo-read", "hostile", "what is no file is read as a note", "store/filesystem.py",
             "    if not stat.S_ISREG(os.fstat(handle).st_mode):", "    if False:",
             (f"{_FILES}test_a_note_whose_file_becomes_a_fifo_between_looking_and_reading_is_not_waited_for",)),
    Mutation("secrets-stored", "hostile", "secrets reach the disk", "engine/arguments.py",
             '        if self.ports.secrets == "allow":', "        if True:",
             (f"{_REMEMBER}test_a_secret_is_replaced_before_anything_reaches_the_disk",)),
    Mutation("secrets-prefixes", "hostile", "a vendor's key is known by its name alone", "model/secrets.py",
             "chain(_prefixed(text), shapes(", "chain(shapes(",
             ("tests/unit/test_credentials.py::test_a_vendors_credential_is_found_wherever_it_stands",)),
    Mutation("computing-loop", "hostile", "a long text keeps the loop from everybody", "engine/computing.py",
             "        if size <= SMALL:", "        if True:",
             ("tests/unit/test_computing.py::test_the_loop_goes_on_while_a_long_text_is_looked_at",)),
    Mutation("computing-share", "hostile", "one principal has all threads", "engine/computing.py",
             " and self._running[principal] < self._share", "",
             ("tests/unit/test_computing.py::test_one_principal_never_has_all_threads",)),
    Mutation("quota-coming", "hostile", "many stores at once pass a limit together", "engine/quota.py",
             "used + wanted + self._coming", "used + wanted",
             ("tests/contract/test_quotas.py::test_many_at_once_do_not_pass_the_limit_together",)),
    Mutation("fence-known", "hostile", "a note can close its fence", "tools/fence.py",
             "    return secrets.token_hex(4)", '    return "00000000"',
             (f"{_RECALL}test_a_note_cannot_close_its_fence",)),
    Mutation("form-both", "hostile", "a client that drops the text gets structured content", "model/forms.py",
             "return TEXT if client in TEXT_CLIENTS else BOTH", "return BOTH",
             (f"{_FORMS}test_a_client_that_drops_the_text_gets_nothing_but_text",)),
    Mutation("form-schema", "hostile", "a client that gets text alone is shown schemas", "tools/answering.py",
             'update={"output_schema": None}', "update={}",
             (f"{_FORMS}test_a_client_that_drops_the_text_gets_nothing_but_text",)),
    Mutation("form-json", "hostile", "OMI's values stand in no fence in text alone", "tools/answering.py",
             "result.for_model if isinstance(result, StoredResult) else result.content", "result.content",
             (f"{_FORMS}test_in_text_alone_what_was_stored_stands_once_in_a_fence_with_the_rule",)),
    Mutation("early-stale", 8, "early answers are given for whatever is installed", "early.py",
             'if stored["made_for"] != made_for():', "if False:",
             (f"{_EARLY}test_answers_that_were_made_for_something_else_are_not_given",)),
    Mutation("early-lost", 8, "what was heard early is not handed on", "running.py",
             "heard = opening.finish() if opening else Heard()",
             "heard = Heard(b'', opening.finish().answered) if opening else Heard()",
             (f"{_EARLY}test_the_session_is_the_one_that_was_begun",)),
    Mutation("early-twice", 8, "an early answer is given a second time", "stdio.py",
             "if self._answered and self._was_given(text):", "if self._was_given(text) and False:",
             (f"{_EARLY}test_a_client_that_gave_up_probing_is_served_in_the_older_era",)),
    Mutation("era-stuck", 8, "a handshake after a probe is refused", "stdio.py",
             "elif self._modern and _shakes_hands(line):", "elif False:",
             (f"{_EARLY}test_a_client_that_gave_up_probing_is_served_in_the_older_era",)),
    Mutation("any-host", "hostile", "a page of another host is served", "web.py",
             "self._hosts(host), self._origins()", '["*"], ["*"]',
             (f"{_RUNNING}test_over_http_only_this_machine_and_its_own_pages_are_served",)),
    Mutation("any-address", "hostile", "other machines are served", "running.py",
             "    if not _is_loopback(host) and not settings.authenticates:", "    if False:",
             (f"{_RUNNING}test_another_address_than_this_machines_own_is_refused",)),
    Mutation("gate-ajar", "hostile", "any token opens the admin namespace", "tools/auth.py",
             "return access is not None and ADMIN in access.scopes", "return access is not None",
             ("tests/contract/test_gate.py::test_behind_a_closed_gate_there_is_nothing",)),
    Mutation("gate-told", "hostile", "the admin endpoint answers otherwise than an unknown path", "web.py",
             "self._admin_sessions is not None and is_admin(access):", "self._admin_sessions is not None:",
             ("tests/contract/test_gate.py::test_the_endpoint_of_the_namespace_is_a_path_like_any_other",)),
    Mutation("scope-unasked", "hostile", "a token that may read may write", "tools/auth.py",
             "return READ if reads or looks else WRITE", "return READ",
             ("tests/contract/test_http_auth.py::test_who_may_read_is_told_which_scope_writing_needs",)),
    Mutation("too-early", "hostile", "a token is taken before it is valid, or without an end", "tools/auth.py",
             "return None if access is None else _checked(access)", "return access",
             ("tests/unit/test_access.py::test_no_forged_token_is_taken",)),
    Mutation("slow-body", "hostile", "a body is waited for without end", "limits.py",
             "with anyio.move_on_after(self._seconds):", "with anyio.move_on_after(3600):",
             ("tests/hostile/test_http_attacks.py::test_a_body_that_does_not_come_is_not_waited_for",)),
    Mutation("all-connections", "hostile", "connections are taken without end", "connections.py",
             "if len(self._owners) >= self._most and", "if len(self._owners) >= 10**9 and",
             ("tests/hostile/test_http_attacks.py::test_more_connections_than_there_is_room_for_are_refused_in_order",)),
    Mutation("no-turns", "hostile", "one client's crowd goes before everybody else", "limits.py",
             "return TURNS if lately or", "return TURNS_ALONE if lately or",
             (f"{_LIMITS}test_a_crowd_of_one_client_goes_on_a_few_at_a_time_while_another_asks",)),
    Mutation("two-ends", "hostile", "a request may say twice where it ends", "connections.py",
             "    if lengths and codings:", "    if not lengths and not codings:",
             (f"{_ATTACKS}test_a_request_whose_end_could_be_read_in_two_ways_is_refused_and_hung_up_on",)),
    Mutation("one-address", "hostile", "an address may have all connections", "connections.py",
             "self._share = min(most, max(LEAST_SHARE, most // 4))", "self._share = most",
             ("tests/hostile/test_http_attacks.py::test_an_address_that_has_its_share_is_told_so_at_once",)),
    Mutation("no-room", "hostile", "who took all places keeps them", "connections.py",
             "        idle.give_way()\n        return True", "        return False",
             ("tests/hostile/test_http_attacks.py::test_who_takes_all_connections_makes_room_for_another_address",)),
    Mutation("strange-token", "hostile", "a token that says a thing strangely is verified", "tools/auth.py",
             "            if not is_well_formed(token):", "            if not token:",
             ("tests/unit/test_access.py::test_no_forged_token_is_taken",)),
    Mutation("free-guesses", "hostile", "tokens may be guessed without end", "limits.py",
             "            guesser.left -= 1", "            guesser.left -= 0",
             ("tests/unit/test_access.py::test_who_guesses_waits_and_who_shares_the_address_does_not",)),
    Mutation("short-keys", "hostile", "one letter opens the admin namespace", "model/access.py",
             "    if is_short and ADMIN in scopes:", "    if False:",
             ("tests/unit/test_access.py::test_a_token_that_opens_the_admin_namespace_is_long",)),
    Mutation("any-page", "hostile", "every page may read the answers", "headers.py",
             'known = Headers(scope=scope).get("origin") in answering.allow_origins', "known = True",
             ("tests/contract/test_http_headers.py::test_for_all_other_pages_there_is_nothing_to_read",)),
    Mutation("space-unheard", "hostile", "all projects of a user share one NOW over HTTP", "tools/agent.py",
             "        if asked is not None:\n            space, how", "        if False:\n            space, how",
             ("tests/contract/test_http_headers.py::test_two_projects_of_one_user_keep_two_nows",)),
    Mutation("one-audience", "hostile", "a subscriber hears of the recalls of others", "tools/subscriptions.py",
             "client.caller == audience.caller and uri", "uri",
             ("tests/contract/test_http_auth.py::test_a_listener_hears_of_its_own_recalls_alone",)),
    Mutation("one-for-all", "hostile", "all principals share a memory", "app.py",
             "tenant_home(settings.home, principal), tenancy", 'tenant_home(settings.home, ""), tenancy',
             (f"{_TENANCY}test_what_one_keeps_no_other_finds_by_words_meaning_time_space_or_tag",)),
    Mutation("tokens-crowded-out", "hostile", "one principal's confirm tokens push out another's", "engine/gated.py",
             "if what[0] == about[0]]", "if what]",
             (f"{_TENANTS}test_no_principal_crowds_out_or_uses_up_the_confirm_tokens_of_another",)),
    Mutation("never-idle", "hostile", "a memory that nobody uses stays open", "engine/tenants.py",
             "                if tenant.is_idle and max(", "                if not tenant and max(",
             (f"{_TENANTS}test_a_memory_that_nobody_uses_is_closed_and_opened_again_when_asked",)),
    Mutation("busy-closed", "hostile", "a memory is closed while it is used", "engine/tenants.py",
             "        return not self.leases and not self.leave.is_set()", "        return not self.leave.is_set()",
             (f"{_TENANTS}test_when_all_memories_are_in_use_a_request_waits_a_while_and_is_told_so",)),
    Mutation("words-logged", "hostile", "what a client calls something is logged", "tools/observing.py",
             "OTHER if tool is None else tool.name", "name",
             (f"{_LOG}test_at_info_each_request_has_one_line_with_an_id_and_nothing_of_what_was_said",)),
    # What a person behind the gate can rely on.
    Mutation("answer-replaced", "admin", "a deed is told as none where its outcome is not journalled",
             "engine/gated.py", '        log.warning("call_not', '        raise error\n        log.warning("call_not',
             (f"{_CALLS}test_an_answer_stands_and_says_so_where_its_outcome_cannot_be_journalled",)),
    Mutation("token-by-try", "admin", "each try of a call spends its token", "engine/gated.py",
             "                self._given[token] = entry\n", "                pass\n",
             (f"{_CALLS}test_a_token_is_spent_once_for_a_call_however_often_it_is_tried[conflict]",)),
    Mutation("change-denied", "admin", "a request that made a change says that nothing happened", "engine/memory.py",
             "            if not ports.made:\n", "            if True:\n",
             (f"{_CALLS}test_a_request_that_made_a_change_and_failed_behind_it_says_that_it_stays",)),
    Mutation("purge-denied", "admin", "a purge that is begun says that nothing was changed", "store/restoring.py",
             "        if _is_decided(disk, plan):", "        if False:", (f"{TRUTHFUL}[purge]",)),
    Mutation("line-denied", 2, "a line that could not be cut off again is told as not written", "store/journal.py",
             "        except OSError:\n            return False\n        return True\n",
             "        except OSError:\n            return True\n        return True\n",
             (f"{TRUTHFUL}[submit_feedback]",)),
    Mutation("undo-over-edits", "admin", "an undo takes away what was written since", "engine/undo.py",
             "    if current is None or current.hash != file.after:", "    if current is None:",
             (f"{_UNDO}test_a_note_that_changed_since_is_a_conflict_and_nothing_is_done",)),
    Mutation("undone-twice", "admin", "an undo that was undone still counts", "engine/undo.py",
             "        if change not in by and change not in void:", "        if change not in void:",
             (f"{_UNDO}test_every_change_of_a_note_can_be_undone_and_that_too",)),
    Mutation("undo-undated", "admin", "a file without a date is as old as its undo", "store/writer.py",
             "    return change.modified_ns\n", "    return None\n",
             (f"{_UNDO}test_a_hand_written_file_comes_back_as_its_writer_left_it",)),
    Mutation("history-kept", "admin", "a purge leaves replaced texts", "store/erasing.py",
             "return (*self.files, *self.past, *self.trash)", "return (*self.files, *self.trash)",
             (f"{_PURGE}test_no_byte_of_a_purged_note_stays",)),
    Mutation("journal-kept", "admin", "a purge leaves names and questions in the journal", "store/erasing.py",
             "    await journal.rewrite(", "    str(", (f"{_PURGE}test_no_byte_of_a_purged_note_stays",)),
    Mutation("recalls-kept", "admin", "a purge leaves the log of recalls", "engine/purge.py",
             "        await ports.recalls.erase()\n", "", (f"{_PURGE}test_no_byte_of_a_purged_note_stays",)),
    Mutation("index-kept", "admin", "a purge leaves the index", "engine/purge.py",
             "        await ports.index.erase()\n", "", (f"{_PURGE}test_no_byte_of_a_purged_note_stays",)),
    Mutation("purge-forgotten", "admin", "a purge whose process died is not carried on", "store/notes.py",
             "            if self._files.exists(self._folder.purge_plan):\n", "            if False:\n",
             (("tests/crash/test_purge_kill.py::"
               "test_a_purge_that_is_killed_at_any_step_is_finished_or_never_began"),)),
    Mutation("vectors-kept", "admin", "what is forgotten stays in the free pages", "encode/forgetting.py",
             "PRAGMA secure_delete = ON", "PRAGMA secure_delete = OFF",
             (f"{_FORGETTING}test_vectors_and_hashes_are_gone_from_every_file_while_others_have_it_open",)),
    Mutation("purge-too-much", "admin", "a purge takes a text that another note has too", "store/erasing.py",
             "frozenset(hashes - shared)", "frozenset(hashes)",
             (f"{_PURGE}test_a_text_that_another_note_has_too_is_kept_for_it",)),
    # Hours of work, and real clients.
    Mutation("busy-when-idle", "soak", "an idle server works on", "engine/memory.py",
             "IDLE_SECONDS = 30.0", "IDLE_SECONDS = 0.0",
             (f"{_SOAK}test_an_idle_server_with_thousands_of_files_does_nothing",)),
    Mutation("handles-leak", "soak", "each append leaves a handle open", "store/filesystem.py",
             'with os.fdopen(handle, "ab") as file:', 'with os.fdopen(handle, "ab", closefd=False) as file:',
             (f"{_SOAK}test_hours_of_calls_over_a_pipe_leave_the_server_as_it_was",)),
    Mutation("log-grows", "soak", "the index's log grows without end", "index/database.py",
             '    "PRAGMA temp_store = MEMORY",', '    "PRAGMA wal_autocheckpoint = 0",',
             (f"{_SOAK}test_hours_of_calls_over_a_pipe_leave_the_server_as_it_was",)),
    Mutation("reads-unsaid", "clients", "a client is not told which tools only read", "tools/agent.py",
             "READS = ToolAnnotations(read_only_hint=True", "READS = ToolAnnotations(read_only_hint=False",
             (f"{_GOLDEN}test_the_tools_are_the_ones_that_were_agreed_on",)),
    Mutation("silent-server", "clients", "a client is not told what the memory is for", "app.py",
             "instructions=INSTRUCTIONS", "instructions=None",
             (f"{_RUNNING}test_a_client_on_a_pipe_can_list_and_call",)),
    Mutation("terminal-steered", "hostile", "a note steers the terminal that shows it", "cli/terminal.py",
             r'return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))', "return text",
             (f"{_COMMANDS}test_a_note_cannot_steer_the_terminal_that_shows_it",)),
    Mutation("secrets-installed", "hostile", "a secret of the shell is written into a client's file", "cli/install.py",
             "or not (_SECRET.search(name) or redact(environ[name]).labels))", "or name)",
             (f"{_INSTALL}test_settings_of_this_shell_are_passed_on_but_for_secrets_and_the_space",)),
    Mutation("install-unchecked", "clients", "a client's file is written without reading it back", "cli/entries.py",
             "        return tomllib.loads(text) == wanted", "        return True",
             (f"{_INSTALL}test_a_file_that_cannot_be_kept_as_it_is_is_not_touched",)),
    Mutation("install-anew", "clients", "what the user put into the entry is lost", "cli/entries.py",
             "_merged(old, entry) if isinstance(old, dict) else dict(entry)", "dict(entry)",
             (f"{_INSTALL}test_what_the_user_has_put_into_the_entry_stays",)),
    Mutation("no-backup", "clients", "a client's file is replaced without a backup", "cli/files.py",
             "backup = _back_up(file.path)", "backup = None",
             (f"{_INSTALL}test_codex_gets_an_entry_that_it_waits_for_and_every_other_line_stays",)),
    Mutation("doctor-content", "clients", "doctor finds an entry that starts nothing in order", "cli/checks.py",
             "    if shutil.which(str(command)) is None:", "    if command is None:",
             (f"{_DOCTOR}test_a_clients_entry_that_starts_nothing_fails_and_install_mends_it",)),
    Mutation("states-mixed", 3, "what an earlier state said is kept as an answer of the next", "index/snapshot.py",
             "            return self._for_the_past(latest)\n", "            return self\n",
             ("tests/unit/test_index.py::test_a_reader_of_an_earlier_state_leaves_nothing_behind_for_the_next",)),
    Mutation("vectors-unread", 3, "vectors of an earlier state are taken for those of the newest", "index/snapshot.py",
             "other.seen, other.is_past = earlier, True", "other.is_past = True",
             (("tests/unit/test_in_memory.py::"
               "test_a_second_search_on_an_earlier_state_costs_no_later_search_a_vector[small]"),)),
    Mutation("old-vectors-kept", 3, "a note is found by the meaning of a text it no longer has", "index/vectors.py",
             "            notes[~stays[notes]] = -1\n", "            del notes\n",
             ("tests/unit/test_in_memory.py::test_a_vector_goes_with_the_text_that_it_was_made_from[small]",)),
    Mutation("short-behind-long", 3, "a short reading waits behind a long one", "index/readers.py",
             "if not turn.come.is_set() and self._count < self._most:", "if False:",
             ("tests/unit/test_readers.py::test_short_readings_wait_for_no_long_one[2]",)),
    Mutation("recall-unheard", 3, "a recall that another server still writes is not known", "engine/feedback.py",
             "while event is None and _is_young(event_id, ports.clock()):", "while False:",
             ("tests/unit/test_feedback.py::test_a_server_waits_for_the_recall_that_another_is_still_writing",)),
    Mutation("garbage-for-ever", "soak", "a server never collects garbage", "running.py",
             "    gc.enable()\n", "",
             (("tests/contract/test_startup.py::"
               "test_garbage_is_collected_once_the_server_is_built_and_no_more_of_what_was_built"),)),
)
# fmt: on

if __name__ == "__main__":
    sys.exit(main(MUTATIONS))
