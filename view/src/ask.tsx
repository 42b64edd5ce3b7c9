// A question, its hits, and why each is there; and what was held back, why, and by how much.

import { useState } from "preact/hooks";
import { NoteCard, Text } from "./cards";
import { useLoaded, Waiting } from "./loading";
import { useMemory } from "./memory";
import type { Held, Inspected, Reason } from "./types";
import { counted, dateOf, heldOf, termOf } from "./words";

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function Terms({ reason }: { reason: Reason }) {
  if (!reason.terms.length) return null;
  const largest = Math.max(...reason.terms.map((term) => Math.abs(term.value)));
  return (
    <table class="terms">
      <caption>What its score of {reason.score.toFixed(2)} is made of</caption>
      <tbody>
        {reason.terms.map(({ name, value }) => (
          <tr key={name}>
            <th scope="row">{termOf(name)}</th>
            <td>{value > 0 ? "+" : ""}{value.toFixed(2)}</td>
            <td>
              <meter class={value < 0 ? "less" : "more"} min={0} max={largest} value={Math.abs(value)} aria-hidden="true" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Why({ reason }: { reason: Reason }) {
  return (
    <details class="why">
      <summary>Why{reason.listed ? ": it is on the list" : <>: <Text text={reason.why} /></>}</summary>
      <ul>
        {reason.matched.length > 0 && <li>Words found: <bdi>{reason.matched.join(", ")}</bdi>, {percent(reason.coverage)} of the question’s weight</li>}
        {reason.z !== null && <li>By meaning {reason.z.toFixed(1)} deviations above what notes here have with any question</li>}
        {reason.belief && <li>{reason.belief}</li>}
        {reason.earlier.length > 0 && <li>It stands for {counted(reason.earlier.length, "older note")} about the same matter</li>}
      </ul>
      <Terms reason={reason} />
    </details>
  );
}

function Relevance({ reason, found }: { reason: Reason; found: Inspected }) {
  if (reason.listed) return null;
  return (
    <p class="relevance">
      <label>
        relevance {reason.relevance.toFixed(2)}{reason.weak && ", a weak match"}{" "}
        <meter min={0} max={1} low={found.weak} high={0.7} optimum={1} value={reason.relevance} />
      </label>
    </p>
  );
}

function Rating({ id, event }: { id: string; event: string }) {
  const memory = useMemory();
  if (!memory.acts.has("submit_feedback")) return null;
  const rate = (signal: 1 | -1) => memory.act(async () => {
    await memory.server.call("submit_feedback", { node_id: id, signal, source: "explicit", event_id: event });
    return { said: "Recorded: similar questions will show it a little earlier or later." };
  });
  return (
    <p class="buttons">
      <button type="button" class="small" onClick={() => void rate(1)}>It helped</button>
      <button type="button" class="small" onClick={() => void rate(-1)}>Beside the point</button>
    </p>
  );
}

function HeldItem({ held, found }: { held: Held; found: Inspected }) {
  const memory = useMemory();
  return (
    <li>
      <NoteCard note={held.hit.note}>
        <p class="held">
          {heldOf(held.why)}
          {held.lacking !== null && ` It lacks ${held.lacking.toFixed(2)} of relevance.`}
          {held.instead && <> <button type="button" class="link" onClick={() => memory.open(held.instead)}>See the one that stands for it</button></>}
        </p>
        <Relevance reason={held.hit} found={found} />
        <Why reason={held.hit} />
      </NoteCard>
    </li>
  );
}

function ReadAs({ found }: { found: Inspected }) {
  const span = found.after || found.before;
  return (
    <ul class="facts">
      <li>{found.space ? <>asked from <Text text={found.space} /></> : "asked from no space"}</li>
      <li>{found.by_meaning ? "by words and by meaning" : "by words only"}</li>
      {found.time_words && <li>“<Text text={found.time_words} />” {span ? <>is {found.after ? dateOf(found.after) : "the beginning"} to {found.before ? dateOf(found.before) : "now"}</> : found.elsewhen ? "had nothing; these are from other times" : "names no days"}</li>}
      {found.described && <li>a list: {found.described}</li>}
      <li>shown from {found.floor.toFixed(2)} on, if the best has {found.gate.toFixed(2)}; doubtful below {found.weak.toFixed(2)}</li>
    </ul>
  );
}

function Found({ found }: { found: Inspected }) {
  return (
    <>
      <ReadAs found={found} />
      {found.notices.map((notice) => <p class="quiet" key={notice}><Text text={notice} /></p>)}
      <h2>{found.hits.length ? counted(found.hits.length, "note answers", "notes answer") : "Nothing relevant is stored"}</h2>
      <ol class="plain">
        {found.hits.map((reason) => (
          <li key={reason.note.id}>
            <NoteCard note={reason.note}>
              <Relevance reason={reason} found={found} />
              <Why reason={reason} />
              <Rating id={reason.note.id} event={found.event_id} />
            </NoteCard>
          </li>
        ))}
      </ol>
      {found.held.length > 0 && (
        <details class="section">
          <summary><h2>Held back <span class="count">{found.held.length}</span></h2></summary>
          <ol class="plain">{found.held.map((held) => <HeldItem held={held} found={found} key={held.hit.note.id} />)}</ol>
        </details>
      )}
    </>
  );
}

function Answered({ question, onMap }: { question: string; onMap: (question: string) => void }) {
  const memory = useMemory();
  const given = { question, ...(memory.space ? { space: memory.space } : {}) };
  const loaded = useLoaded(() => memory.server.read<Inspected>("view_ask", given), [question, memory.space]);
  return (
    <>
      <p><button type="button" class="link" onClick={() => onMap(question)}>Show these on the map</button></p>
      <Waiting loaded={loaded}>{(found) => <Found found={found} />}</Waiting>
    </>
  );
}

export function AskPanel(given: { question: string; ask: (question: string) => void; onMap: (question: string) => void }) {
  const [typed, setTyped] = useState(given.question);
  return (
    <>
      <div class="ask" role="search">
        <label for="question">Ask as an agent would</label>
        <input
          id="question" type="search" dir="auto" value={typed} autocomplete="off" placeholder="What did we decide about releases?"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && !event.isComposing && given.ask(typed.trim())}
        />
        <button type="button" class="main" onClick={() => given.ask(typed.trim())}>Ask</button>
      </div>
      {!given.question && (
        <p class="quiet">You see which notes an agent is given for this question, why each of them, and what is held back.</p>
      )}
      {given.question && <Answered question={given.question} onMap={given.onMap} />}
    </>
  );
}
