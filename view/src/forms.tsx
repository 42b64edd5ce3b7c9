// The forms with which a note is stored, edited, replaced, retired, linked, put into the trash or erased.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { sentenceOf } from "./loading";
import { type Done, type Memory, useMemory } from "./memory";
import type { Card, Inspected, Node } from "./types";
import { EDGE_TYPES, edgeOf } from "./words";

interface Changed {
  change_id: string | null;
}

const tagsOf = (typed: string): string[] => typed.split(",").map((tag) => tag.trim()).filter(Boolean);

/**
 * No form of HTML's: hosts may run the View without leave to submit any. It takes the focus to its first field, or to
 * what does nothing where it has none.
 */
function Form(given: {
  name: string; label: string; danger?: boolean; incomplete?: boolean; run: () => Promise<boolean>; close: () => void;
  children: ComponentChildren;
}) {
  const [busy, setBusy] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const first = whole.current?.querySelector<HTMLElement>("input, textarea, select") ?? whole.current?.querySelector<HTMLElement>("button:last-of-type");
    first?.focus();
    whole.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const submit = () => {
    setBusy(true);
    void given.run().then((done) => {
      setBusy(false);
      if (done) given.close();
    });
  };
  return (
    <div role="form" class="edit" aria-label={given.name} ref={whole}>
      {given.children}
      <p class="buttons">
        <button type="button" class={given.danger ? "danger" : "main"} disabled={busy || given.incomplete} onClick={submit}>
          {given.label}
        </button>
        <button type="button" onClick={given.close}>Cancel</button>
      </p>
    </div>
  );
}

function Area({ label, value, set }: { label: string; value: string; set: (text: string) => void }) {
  return (
    <label>
      {label}
      <textarea dir="auto" rows={6} aria-required="true" value={value} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
}

function Line(given: { label: string; value: string; set: (text: string) => void; required?: boolean; hint?: string }) {
  return (
    <label>
      {given.label}
      <input
        dir="auto" value={given.value} placeholder={given.hint} aria-required={given.required}
        onInput={(event) => given.set(event.currentTarget.value)}
      />
    </label>
  );
}

/** Let the model know what was done, where the host takes it; a host that does not changes nothing about the deed. */
async function tell(memory: Memory, text: string): Promise<void> {
  await memory.server.tellModel(text).catch(() => undefined);
}

export function StoreForm({ close }: { close: () => void }) {
  const memory = useMemory();
  const [content, setContent] = useState("");
  const [tags, setTags] = useState("");
  const run = () => memory.act(async (): Promise<Done> => {
    const given = { content, tags: tagsOf(tags), ...(memory.space ? { space: memory.space } : {}) };
    const { data, text } = await memory.server.call<Changed & { id: string }>("remember", given);
    if (data) await tell(memory, `The user stored ${data.id} in the View.`);
    return { said: text.startsWith("Already") ? "It was stored already." : "Stored.", change: data?.change_id };
  });
  return (
    <Form name="Store a note" label="Store" incomplete={!content.trim()} run={run} close={close}>
      <Area label="What should be remembered?" value={content} set={setContent} />
      <Line label="Tags" hint="with commas between" value={tags} set={setTags} />
    </Form>
  );
}

export function EditForm({ node, content, close }: { node: Node; content: string; close: () => void }) {
  const memory = useMemory();
  const [text, setText] = useState(content);
  const [title, setTitle] = useState(node.title);
  const [tags, setTags] = useState(node.tags.join(", "));
  const run = () => memory.act(async (): Promise<Done> => {
    const given = {
      node_id: node.id, tags: tagsOf(tags),
      ...(text === content ? {} : { content: text }), ...(title === node.title ? {} : { title }),
    };
    const { data } = await memory.server.call<Changed>("admin_update_memory", given);
    await tell(memory, `The user edited ${node.id} in the View.`);
    return { said: "Saved.", change: data?.change_id };
  });
  return (
    <Form name="Edit the note" label="Save" incomplete={!text.trim() || !title.trim()} run={run} close={close}>
      <Line label="Title" value={title} set={setTitle} required />
      <Area label="Text" value={text} set={setText} />
      <Line label="Tags" hint="with commas between" value={tags} set={setTags} />
    </Form>
  );
}

/** A new note in the place of one: that one stays known as what was true before. */
export function ReplaceForm({ node, content, close }: { node: Node; content: string; close: (successor?: string) => void }) {
  const memory = useMemory();
  const [text, setText] = useState(content);
  const [tags, setTags] = useState(node.tags.join(", "));
  const successor = useRef<string | undefined>(undefined); // known before the form is drawn again
  const run = () => memory.act(async (): Promise<Done> => {
    const given = {
      content: text, type: node.type, tier: node.tier, space: node.space, tags: tagsOf(tags), supersedes: [node.id],
      ...(node.subject ? { subject: node.subject } : {}),
    };
    const { data } = await memory.server.call<Changed & { id: string }>("remember", given);
    if (data) await tell(memory, `The user replaced ${node.id} by ${data.id} in the View.`);
    successor.current = data?.id;
    return { said: "Replaced: the older note is kept as what was true before.", change: data?.change_id };
  });
  return (
    <Form name="Replace the note" label="Replace" incomplete={!text.trim() || text === content} run={run} close={() => close(successor.current)}>
      <Area label="What is true now" value={text} set={setText} />
      <Line label="Tags" hint="with commas between" value={tags} set={setTags} />
    </Form>
  );
}

export function RetireForm({ node, close }: { node: Node; close: () => void }) {
  const memory = useMemory();
  const [reason, setReason] = useState("");
  const run = () => memory.act(async (): Promise<Done> => {
    const given = { node_id: node.id, ...(reason.trim() ? { reason } : {}) };
    const { data } = await memory.server.call<Changed>("mark_outdated", given);
    await tell(memory, `The user retired ${node.id} in the View.`);
    return { said: "Retired: it stays readable, and recall leaves it out.", change: data?.change_id };
  });
  return (
    <Form name="Retire the note" label="Retire" run={run} close={close}>
      <Line label="Why does it no longer hold?" hint="may stay empty" value={reason} set={setReason} />
    </Form>
  );
}

const FOUND = 6; // notes to choose from
const ID = /^mem_[0-9a-z]{4,16}$/;

/** Finds notes by words, to choose one of them; `chosen` is told its id. */
function Choice({ but, chosen, choose }: { but: string; chosen: string; choose: (id: string) => void }) {
  const memory = useMemory();
  const [typed, setTyped] = useState("");
  const [found, setFound] = useState<{ notes: Card[]; problem: string }>();
  const find = async () => {
    choose("");
    if (ID.test(typed.trim())) {
      setFound(undefined);
      choose(typed.trim());
      return;
    }
    try {
      const { hits, held } = await memory.server.read<Inspected>("view_ask", { question: typed.trim(), limit: FOUND });
      const notes = [...hits, ...held.map((each) => each.hit)].map((reason) => reason.note).filter((note) => note.id !== but);
      setFound({ notes: notes.slice(0, FOUND), problem: notes.length ? "" : "No note was found: try other words, or its id." });
    } catch (error) {
      setFound({ notes: [], problem: sentenceOf(error) });
    }
  };
  return (
    <>
      <div class="ask" role="search">
        <label for="other">The other note: words of it, or its id</label>
        <input
          id="other" type="search" dir="auto" autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && !event.isComposing && typed.trim() && void find()}
        />
        <button type="button" disabled={!typed.trim()} onClick={() => void find()}>Find</button>
      </div>
      <div role="status">
        {found?.problem && <p class="problem">{found.problem}</p>}
        {!found && chosen && <p class="quiet">Link to <code>{chosen}</code>.</p>}
      </div>
      {found && found.notes.length > 0 && (
        <fieldset>
          <legend>Which one?</legend>
          {found.notes.map((note) => (
            <label class="choice" key={note.id}>
              <input type="radio" name="other" checked={chosen === note.id} onChange={() => choose(note.id)} />
              <bdi>{note.title}</bdi>
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}

export function LinkForm({ node, close }: { node: Node; close: () => void }) {
  const memory = useMemory();
  const [target, setTarget] = useState("");
  const [edge, setEdge] = useState("related_to");
  const run = () => memory.act(async (): Promise<Done> => {
    const given = { source_id: node.id, target_id: target, edge };
    const { data } = await memory.server.call<Changed>("admin_connect_memories", given);
    await tell(memory, `The user linked ${node.id} and ${target} in the View.`);
    return { said: "Linked.", change: data?.change_id };
  });
  return (
    <Form name="Link the note" label="Link" incomplete={!target} run={run} close={close}>
      <label>
        This note
        <select value={edge} onChange={(event) => setEdge(event.currentTarget.value)}>
          {EDGE_TYPES.map((type) => <option value={type} key={type}>{edgeOf(type)}</option>)}
        </select>
      </label>
      <Choice but={node.id} chosen={target} choose={setTarget} />
    </Form>
  );
}

/** Something that destroys: the server says what it would do and gives a token, which the second call brings. */
export function ConfirmForm(given: { node: Node; tool: "admin_delete_memory" | "admin_purge"; would: string; token: string; close: () => void }) {
  const memory = useMemory();
  const erases = given.tool === "admin_purge";
  const run = () => memory.act(async (): Promise<Done> => {
    const { data, text } = await memory.server.call<Partial<Changed>>(given.tool, { node_id: given.node.id, confirm: given.token });
    await tell(memory, `The user ${erases ? "erased" : "deleted"} ${given.node.id} in the View.`);
    return { said: text.split(". ")[0] ?? text, change: data?.change_id };
  });
  const would = given.would.replace(/To do it, call again.*$/s, "").trim();
  return (
    <Form name={erases ? "Erase the note" : "Delete the note"} label={erases ? "Erase for good" : "Delete"} danger run={run} close={given.close}>
      <p dir="auto" class="text">{would}</p>
    </Form>
  );
}
