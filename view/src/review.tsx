// What waits for a person: proposals, contradictions, doubted beliefs, files that are no notes, near duplicates.

import { Named, NoteCard, Text } from "./cards";
import { useLoaded, Waiting } from "./loading";
import { type Memory, useMemory } from "./memory";
import { PairList, Progress, Section, type Sought, usePairs } from "./pairs";
import type { Card, Proposal, Review } from "./types";
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

function Found({ found, sought, further }: { found: Review; sought: Sought; further: () => void }) {
  const memory = useMemory();
  const notes = new Map(found.notes.map((note) => [note.id, note]));
  const waiting = found.count_proposals + found.opposed.length + found.doubted.length + found.count_quarantined
    + sought.conflicts.length + sought.alike.length;
  return (
    <>
      {!waiting && <p class="quiet">{sought.busy ? "Nothing waits for you so far." : "Nothing waits for you."}</p>}
      <Section title="Proposals" count={found.count_proposals}>
        <ul class="plain">{found.proposals.map((each) => <ProposalItem proposal={each} notes={notes} key={each.id} />)}</ul>
      </Section>
      <PairList title="Contradictions" pairs={found.opposed} notes={notes} />
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
      <PairList title="Perhaps contradictions" pairs={sought.conflicts} notes={sought.notes} />
      <PairList title="Near duplicates" pairs={sought.alike} notes={sought.notes} />
      <Progress sought={sought} further={further} />
      {memory.acts.size > 0 && !memory.acts.has("admin_resolve_proposal") && (
        <p class="quiet">Proposals are shown where the gate is open: <code>holdfast view --admin</code>.</p>
      )}
    </>
  );
}

export function ReviewPanel() {
  const memory = useMemory();
  const given = memory.space ? { space: memory.space } : {};
  const loaded = useLoaded(() => memory.server.read<Review>("view_review", given), [memory.space, memory.number]);
  const { sought, further } = usePairs();
  return <Waiting loaded={loaded}>{(found) => <Found found={found} sought={sought} further={further} />}</Waiting>;
}
