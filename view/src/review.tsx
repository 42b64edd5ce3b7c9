// What waits for a person: proposals, contradictions, near duplicates, doubted beliefs, files that are no notes.

import type { ComponentChildren } from "preact";
import { Named, NoteCard, Text } from "./cards";
import { useLoaded, Waiting } from "./loading";
import { type Memory, useMemory } from "./memory";
import type { Card, Pair, Proposal, Review } from "./types";
import { counted, dateOf } from "./words";

const KINDS: Record<string, string> = { merge: "Merge", consolidate: "Consolidate", retire: "Retire" };

async function resolve(memory: Memory, proposal: Proposal, action: "approve" | "reject") {
  const given = { proposal_id: proposal.id, action };
  const { data, text } = await memory.server.call<{ status: string; reason: string; change_id: string | null }>(
    "admin_resolve_proposal", given,
  );
  return { said: data ? `${data.status}: ${data.reason}` : text, change: data?.change_id ?? null };
}

function ProposalItem({ proposal, notes }: { proposal: Proposal; notes: ReadonlyMap<string, Card> }) {
  const memory = useMemory();
  return (
    <li class="card" data-proposal={proposal.id}>
      <h3>{KINDS[proposal.kind] ?? proposal.kind} {counted(proposal.notes.length, "note")}</h3>
      <p class="facts"><span><time dateTime={proposal.created}>{dateOf(proposal.created)}</time></span><span>by <Text text={proposal.by} /></span></p>
      <ul class="plain">{proposal.notes.map((id) => <li key={id}><Named id={id} notes={notes} /></li>)}</ul>
      {proposal.reason && <p>Because: <Text text={proposal.reason} /></p>}
      {proposal.title && <p>New title: <Text text={proposal.title} /></p>}
      {proposal.content && <><p>New text:</p><Text block text={proposal.content} /></>}
      <p class="buttons">
        <button type="button" class="main" onClick={() => void memory.act(() => resolve(memory, proposal, "approve"))}>Approve</button>
        <button type="button" onClick={() => void memory.act(() => resolve(memory, proposal, "reject"))}>Reject</button>
      </p>
    </li>
  );
}

async function keepOne(memory: Memory, kept: string, retired: string) {
  const given = { node_id: retired, superseded_by: kept, reason: "Settled in the View." };
  const { data } = await memory.server.call<{ change_id: string | null }>("mark_outdated", given);
  await memory.server.tellModel(`The user retired ${retired} in favour of ${kept} in the View.`).catch(() => undefined);
  return { said: "The other one is retired.", change: data?.change_id ?? null };
}

function PairItem({ pair, notes }: { pair: Pair; notes: ReadonlyMap<string, Card> }) {
  const memory = useMemory();
  const [first, second] = [notes.get(pair.first), notes.get(pair.second)];
  if (!first || !second) return null;
  const keep = (kept: Card, other: Card) => memory.acts.has("mark_outdated") && (
    <button
      type="button" aria-label={`Keep this, retire the other: ${kept.title}`}
      onClick={() => void memory.act(() => keepOne(memory, kept.id, other.id))}
    >
      Keep this, retire the other
    </button>
  );
  return (
    <li class="pair">
      {pair.reason && <p>Because: <Text text={pair.reason} /></p>}
      <NoteCard note={first}>{keep(first, second)}</NoteCard>
      <NoteCard note={second}>{keep(second, first)}</NoteCard>
    </li>
  );
}

function Section({ title, count, children }: { title: string; count: number; children: ComponentChildren }) {
  if (!count) return null;
  return <section><h2>{title} <span class="count">{count.toLocaleString()}</span></h2>{children}</section>;
}

function Pairs({ title, pairs, notes }: { title: string; pairs: Pair[]; notes: ReadonlyMap<string, Card> }) {
  return (
    <Section title={title} count={pairs.length}>
      <ul class="plain">{pairs.map((pair) => <PairItem pair={pair} notes={notes} key={`${pair.first} ${pair.second}`} />)}</ul>
    </Section>
  );
}

function Found({ found }: { found: Review }) {
  const notes = new Map(found.notes.map((note) => [note.id, note]));
  const waiting = found.count_proposals + found.opposed.length + found.conflicts.length + found.alike.length
    + found.doubted.length + found.count_quarantined;
  return (
    <>
      {!waiting && <p class="quiet">Nothing waits for you.</p>}
      <Section title="Proposals" count={found.count_proposals}>
        <ul class="plain">{found.proposals.map((each) => <ProposalItem proposal={each} notes={notes} key={each.id} />)}</ul>
      </Section>
      <Pairs title="Contradictions" pairs={found.opposed} notes={notes} />
      <Pairs title="Perhaps contradictions" pairs={found.conflicts} notes={notes} />
      <Pairs title="Near duplicates" pairs={found.alike} notes={notes} />
      <Section title="Doubted beliefs" count={found.doubted.length}>
        <ul class="plain">
          {found.doubted.map(({ id, standing }) => {
            const note = notes.get(id);
            return note && <li key={id}><NoteCard note={note}><p>{standing}</p></NoteCard></li>;
          })}
        </ul>
      </Section>
      <Section title="Files that cannot be read as notes" count={found.count_quarantined}>
        <ul>{found.quarantined.map(({ path, reason }) => <li key={path}><code><bdi>{path}</bdi></code>: <Text text={reason} /></li>)}</ul>
      </Section>
    </>
  );
}

export function ReviewPanel() {
  const memory = useMemory();
  const given = memory.space ? { space: memory.space } : {};
  const loaded = useLoaded(() => memory.server.read<Review>("view_review", given), [memory.space, memory.number]);
  return <Waiting loaded={loaded}>{(found) => <Found found={found} />}</Waiting>;
}
