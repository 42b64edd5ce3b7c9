// What was stored, changed, merged and retired, the newest first.

import { useState } from "preact/hooks";
import { NoteCard } from "./cards";
import { sentenceOf } from "./loading";
import { takeBack, useMemory } from "./memory";
import type { Change, Recent } from "./types";
import { counted, timeOf, verbOf } from "./words";

function ChangeItem({ change }: { change: Change }) {
  const memory = useMemory();
  const mayUndo = !change.undone_by && (memory.acts.has("admin_undo") || (change.own && memory.acts.has("mark_outdated")));
  return (
    <li class="change" data-change={change.change_id}>
      <p class="what">
        <strong>{verbOf(change.op)}</strong>{" "}
        <time dateTime={change.at}>{timeOf(change.at)}</time>
        {change.source && <> by <bdi>{change.source}</bdi></>}
        {change.undone_by && <em class="undone">taken back since</em>}
        {mayUndo && (
          <button type="button" class="small" onClick={() => void memory.act(() => takeBack(memory, change.change_id))}>
            Undo
          </button>
        )}
      </p>
      {change.notes.map((note) => <NoteCard note={note} key={note.id} />)}
      {change.gone.map((id) => <p class="quiet" key={id}>No longer here: <code>{id}</code></p>)}
      {change.more > 0 && <p class="quiet">and {counted(change.more, "more note")}</p>}
    </li>
  );
}

export function RecentPanel({ recent }: { recent: Recent }) {
  const memory = useMemory();
  const [older, setOlder] = useState<{ of: number; changes: Change[]; before: number }>({ of: -1, changes: [], before: 0 });
  const [problem, setProblem] = useState("");
  const follows = older.of === recent.before ? older : { of: recent.before, changes: [], before: recent.before };
  const more = async () => {
    try {
      const page = await memory.server.read<Recent>("view_recent", {
        before: follows.before, ...(memory.space ? { space: memory.space } : {}),
      });
      setOlder({ of: recent.before, changes: [...follows.changes, ...page.changes], before: page.before });
      setProblem("");
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  const changes = [...recent.changes, ...follows.changes];
  if (!changes.length) return <p class="quiet">Nothing has been stored yet. What an agent stores shows here at once.</p>;
  return (
    <>
      <ol class="changes">{changes.map((change) => <ChangeItem change={change} key={change.change_id} />)}</ol>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {follows.before > 0 && <button type="button" onClick={() => void more()}>Show older changes</button>}
    </>
  );
}
