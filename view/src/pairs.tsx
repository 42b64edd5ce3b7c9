// Two notes that say nearly the same, or the opposite: known ones, and those that are looked for while the rest is shown.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { NoteCard, Text } from "./cards";
import { sentenceOf } from "./loading";
import { type Memory, useMemory } from "./memory";
import type { Card, Pair, Pairs } from "./types";
import { counted } from "./words";

const ROUND = 64; // notes that are looked at before a person is asked whether to go on
const PAUSE = 30_000; // milliseconds between two rounds because others changed something, where a round takes long

/** What was found so far; `looked` of `total` notes were looked at, and `most` are to be. */
export interface Sought {
  conflicts: Pair[];
  alike: Pair[];
  notes: ReadonlyMap<string, Card>;
  looked: number;
  total: number;
  most: number;
  busy: boolean;
  problem: string;
}

const NOTHING: Sought = {
  conflicts: [], alike: [], notes: new Map(), looked: 0, total: 0, most: ROUND, busy: true, problem: "",
};

const keyOf = (pair: Pair): string => [pair.first, pair.second].sort().join(" ");

function joined(one: Pair[], other: Pair[]): Pair[] {
  const known = new Set(one.map(keyOf));
  return [...one, ...other.filter((pair) => !known.has(keyOf(pair)))];
}

/** What is found with another page; pairs of `before` stay until the round has ended. */
function withPage(found: Sought, page: Pairs): Sought {
  return {
    ...found,
    conflicts: joined(found.conflicts, page.conflicts),
    alike: joined(found.alike, page.alike),
    notes: new Map([...found.notes, ...page.notes.map((note) => [note.id, note] as const)]),
    looked: page.looked,
    total: page.total,
    busy: page.looked < Math.min(found.most, page.total),
  };
}

/** While a round goes on, what the one before had found is shown as well. */
function whileBusy(found: Sought, before: Sought): Sought {
  if (!found.busy) return found;
  return {
    ...found,
    conflicts: joined(found.conflicts, before.conflicts),
    alike: joined(found.alike, before.alike),
    notes: new Map([...before.notes, ...found.notes]),
  };
}

/**
 * Looks for pairs page by page; `further` looks at more notes. After an act it looks again at once; when others changed
 * something it ends its round first, and where a round takes long it waits.
 */
export function usePairs(): { sought: Sought; further: () => void } {
  const { server, space, number, acted } = useMemory();
  const [sought, setSought] = useState<Sought>(NOTHING);
  const [most, setMost] = useState(ROUND);
  const [round, setRound] = useState(0);
  const last = useRef({ space, number, acted, round, sought: NOTHING, at: 0 });
  useEffect(() => {
    const before = last.current;
    const isOther = before.space !== space;
    const goesOn = !isOther && before.acted === acted && before.round === round && !before.sought.busy;
    const shown = isOther ? NOTHING : before.sought;
    let found = { ...(goesOn ? before.sought : { ...NOTHING, total: shown.total }), most, busy: true };
    let ended = false;
    const look = async () => {
      last.current = { space, number, acted, round, sought: shown, at: Date.now() };
      setSought(whileBusy(found, shown));
      while (found.busy && !ended) {
        const given = { offset: found.looked, ...(space ? { space } : {}) };
        const page = await server.read<Pairs>("view_pairs", given);
        if (ended) return;
        found = withPage(found, page);
        setSought(whileBusy(found, shown));
      }
      last.current = { ...last.current, sought: found };
    };
    look().catch((error: unknown) => !ended && setSought({ ...shown, busy: false, problem: sentenceOf(error) }));
    return () => {
      ended = true;
    };
  }, [server, space, acted, most, round]);
  useEffect(() => {
    if (sought.busy || last.current.number === number) return undefined;
    const wait = sought.total > ROUND ? Math.max(0, last.current.at + PAUSE - Date.now()) : 0;
    const timer = window.setTimeout(() => setRound((before) => before + 1), wait);
    return () => window.clearTimeout(timer);
  }, [number, sought.busy, sought.total]);
  return { sought, further: () => setMost(Math.ceil(sought.looked / ROUND) * ROUND + ROUND) };
}

async function keepOne(memory: Memory, kept: string, retired: string) {
  const given = { node_id: retired, superseded_by: kept, reason: "Settled in the View." };
  const { data } = await memory.server.call<{ change_id: string | null }>("mark_outdated", given);
  await memory.server.tellModel(`The user retired ${retired} in favour of ${kept} in the View.`).catch(() => undefined);
  return { said: "The other one is retired.", change: data?.change_id ?? null };
}

function PairItem({ pair, notes }: { pair: Pair; notes: ReadonlyMap<string, Card> }) {
  const memory = useMemory();
  const [settled, setSettled] = useState(-1); // the act with which it was settled: hidden until something else is done
  const [first, second] = [notes.get(pair.first), notes.get(pair.second)];
  if (!first || !second || memory.acted <= settled) return null;
  const settle = async (kept: Card, other: Card) => {
    if (await memory.act(() => keepOne(memory, kept.id, other.id))) setSettled(memory.acted + 1);
  };
  const keep = (kept: Card, other: Card) => memory.acts.has("mark_outdated") && (
    <p class="buttons">
      <button type="button" class="small" aria-label={`Keep this, retire the other: ${kept.title}`} onClick={() => void settle(kept, other)}>
        Keep this, retire the other
      </button>
    </p>
  );
  return (
    <li class="pair">
      {pair.reason && <p>Because: <Text text={pair.reason} /></p>}
      <NoteCard note={first}>{keep(first, second)}</NoteCard>
      <NoteCard note={second}>{keep(second, first)}</NoteCard>
    </li>
  );
}

export function Section({ title, count, children }: { title: string; count: number; children: ComponentChildren }) {
  if (!count) return null;
  return <section><h2>{title} <span class="count">{count.toLocaleString()}</span></h2>{children}</section>;
}

export function PairList({ title, pairs, notes }: { title: string; pairs: Pair[]; notes: ReadonlyMap<string, Card> }) {
  return (
    <Section title={title} count={pairs.length}>
      <ul class="plain">{pairs.map((pair) => <PairItem pair={pair} notes={notes} key={keyOf(pair)} />)}</ul>
    </Section>
  );
}

/** How far the search is. */
export function Progress({ sought, further }: { sought: Sought; further: () => void }) {
  const { looked, total, most, busy, problem } = sought;
  if (problem) return <p class="problem" role="alert">{problem}</p>;
  if (busy) {
    const of = total ? `: ${looked.toLocaleString()} of ${counted(Math.min(most, total), "note")}` : "";
    return <p class="quiet" aria-busy="true">Still looking for near duplicates{of} …</p>;
  }
  if (looked >= total) return null;
  return (
    <p class="quiet">
      Looked for near duplicates around the latest {looked.toLocaleString()} of {counted(total, "note")}.{" "}
      <button type="button" class="link" onClick={further}>Look further</button>
    </p>
  );
}
