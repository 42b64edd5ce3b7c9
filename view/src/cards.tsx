// A note as lists show it. What notes say is text, in whatever direction it is written, and nothing else.

import type { ComponentChildren } from "preact";
import { useMemory } from "./memory";
import type { Card } from "./types";
import { dateOf } from "./words";

export function Text({ text, block = false }: { text: string; block?: boolean }) {
  return block ? <div dir="auto" class="text">{text}</div> : <bdi class="text">{text}</bdi>;
}

export function Title({ note }: { note: Card }) {
  const memory = useMemory();
  return (
    <button type="button" class="title" onClick={() => memory.open(note.id)}>
      <bdi>{note.title}</bdi>
    </button>
  );
}

/** A note that may be gone: its title, or its id alone. */
export function Named({ id, notes }: { id: string; notes: ReadonlyMap<string, Card> }) {
  const note = notes.get(id);
  const memory = useMemory();
  if (note) return <Title note={note} />;
  return <button type="button" class="title" onClick={() => memory.open(id)}><code>{id}</code></button>;
}

export function Facts({ note }: { note: Card }) {
  return (
    <p class="facts">
      <span>{note.type}</span>
      <span><Text text={note.space} /></span>
      <span><time dateTime={note.happened}>{dateOf(note.happened)}</time></span>
      {note.tier !== "working" && <span>{note.tier}</span>}
      {note.type === "belief" && <span>confidence {note.confidence.toFixed(2)}</span>}
      {note.tags.map((tag) => <span class="tag" key={tag}><Text text={tag} /></span>)}
    </p>
  );
}

export function Retired({ note }: { note: Card }) {
  const memory = useMemory();
  if (!note.outdated) return null;
  return (
    <p class="retired">
      <strong>Retired</strong>
      {note.outdated_reason && <>: <Text text={note.outdated_reason} /></>}
      {note.superseded_by && (
        <> <button type="button" class="link" onClick={() => memory.open(note.superseded_by)}>See what replaced it</button></>
      )}
    </p>
  );
}

export function NoteCard({ note, children }: { note: Card; children?: ComponentChildren }) {
  return (
    <article class={note.outdated ? "card outdated" : "card"} data-note={note.id}>
      <h3><Title note={note} /></h3>
      {note.text !== note.title && <p dir="auto" class="text">{note.text}</p>}
      <Retired note={note} />
      <Facts note={note} />
      {children}
    </article>
  );
}
