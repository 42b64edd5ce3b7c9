// What happened, by the time of the events: months to choose from, and a page of notes.

import { useState } from "preact/hooks";
import { NoteCard } from "./cards";
import { useLoaded, Waiting } from "./loading";
import { useMemory } from "./memory";
import type { Card, Timeline } from "./types";
import { counted, dateOf, monthOf } from "./words";

const PAGE = 50;

/** The last day of a month such as 2026-02, as the server takes it. */
function endOf(month: string): string {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year ?? 0, number ?? 1, 0)).toISOString().slice(0, 10);
}

function Months({ found, chosen, choose }: { found: Timeline; chosen: string; choose: (month: string) => void }) {
  const largest = Math.max(1, ...found.months.map((month) => month.count));
  return (
    <div class="months" role="group" aria-label="Months">
      <button type="button" aria-pressed={!chosen} onClick={() => choose("")}>latest</button>
      {found.months.map(({ month, count, retired }) => (
        <button
          type="button" key={month} aria-pressed={chosen === month} onClick={() => choose(month)}
          aria-label={`${monthOf(month)}: ${counted(count, "note")}, ${retired.toLocaleString()} retired`}
        >
          <svg class="bar" viewBox="0 0 10 40" width="10" height="40" aria-hidden="true">
            <rect x="0" width="10" y={40 - (40 * count) / largest} height={(40 * count) / largest} class="all" />
            <rect x="0" width="10" y={40 - (40 * retired) / largest} height={(40 * retired) / largest} class="gone" />
          </svg>
          <span>{monthOf(month)}</span>
        </button>
      ))}
    </div>
  );
}

function Days({ notes }: { notes: Card[] }) {
  const days = new Map<string, Card[]>();
  for (const note of notes) {
    const day = note.happened.slice(0, 10);
    days.set(day, [...(days.get(day) ?? []), note]);
  }
  return (
    <ol class="days">
      {[...days].map(([day, these]) => (
        <li key={day}>
          <h2><time dateTime={day}>{dateOf(`${day}T12:00:00Z`)}</time></h2>
          {these.map((note) => <NoteCard note={note} key={note.id} />)}
        </li>
      ))}
    </ol>
  );
}

export function TimelinePanel() {
  const memory = useMemory();
  const [month, setMonth] = useState("");
  const [offset, setOffset] = useState(0);
  const given = {
    offset, limit: PAGE, ...(memory.space ? { space: memory.space } : {}), ...(month ? { before: endOf(month) } : {}),
  };
  const loaded = useLoaded(
    () => memory.server.read<Timeline>("view_timeline", given), [memory.space, memory.number, month, offset],
  );
  const choose = (next: string) => {
    setMonth(next);
    setOffset(0);
  };
  return (
    <Waiting loaded={loaded}>
      {(found) => (
        <>
          <Months found={found} chosen={month} choose={choose} />
          {!found.notes.length && <p class="quiet">Nothing is stored here.</p>}
          <Days notes={found.notes} />
          <p class="buttons">
            {offset > 0 && <button type="button" onClick={() => setOffset(Math.max(0, offset - PAGE))}>Newer</button>}
            {found.offset + found.notes.length < found.total && <button type="button" onClick={() => setOffset(offset + PAGE)}>Older</button>}
          </p>
        </>
      )}
    </Waiting>
  );
}
