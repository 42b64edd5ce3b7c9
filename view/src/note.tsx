// One note, whole, with what belongs to it and what may be done about it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Text } from "./cards";
import { ConfirmForm, EditForm, LinkForm, ReplaceForm, RetireForm } from "./forms";
import { sentenceOf, useLoaded, Waiting } from "./loading";
import { useMemory } from "./memory";
import type { Server } from "./server";
import type { Node } from "./types";
import { counted, dateOf, edgeOf } from "./words";

const MOST_PAGES = 20;
const SELF = "mem_0000000000000000";

interface Whole {
  node: Node;
  content: string;
  isWhole: boolean;
}

/** A note with the text of its pages. */
async function wholeNode(server: Server, id: string): Promise<Whole> {
  const node = await server.read<Node>("recall_node", { node_id: id });
  let [content, last, page] = [node.content, node, 1];
  const goesOn = () => last.notices.some((notice) => notice.includes(`page=${page + 1} goes on`));
  while (goesOn() && page < MOST_PAGES) {
    last = await server.read<Node>("recall_node", { node_id: node.id, page: page + 1 });
    content += last.content;
    page += 1;
  }
  return { node, content, isWhole: !goesOn() };
}

type Doing =
  | { form: "edit" | "replace" | "retire" | "link" }
  | { form: "delete" | "erase"; would: string; token: string };

function Acts({ whole, close }: { whole: Whole; close: () => void }) {
  const memory = useMemory();
  const { node } = whole;
  const [doing, setDoing] = useState<Doing>();
  const [problem, setProblem] = useState("");
  const buttons = useRef<HTMLParagraphElement>(null);
  const [ended, setEnded] = useState<Doing["form"]>();
  const stop = () => {
    setEnded(doing?.form);
    setDoing(undefined);
  };
  useEffect(() => {
    if (!ended || doing) return;
    const there = buttons.current;
    (there?.querySelector<HTMLElement>(`[data-act=${ended}]`) ?? there?.querySelector<HTMLElement>("button"))?.focus();
  }, [ended, doing]);
  const first = async (form: "delete" | "erase") => {
    const tool = form === "delete" ? "admin_delete_memory" : "admin_purge";
    try {
      const { data, text } = await memory.server.call<{ confirm: string | null }>(tool, { node_id: node.id });
      const token = data?.confirm ?? /confirm=([0-9a-f]+)/.exec(text)?.[1] ?? "";
      setDoing({ form, would: text, token });
      setProblem("");
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  if (doing?.form === "edit") return <EditForm node={node} content={whole.content} close={stop} />;
  if (doing?.form === "retire") return <RetireForm node={node} close={stop} />;
  if (doing?.form === "link") return <LinkForm node={node} close={stop} />;
  if (doing?.form === "replace") {
    return <ReplaceForm node={node} content={whole.content} close={(successor) => (successor ? memory.open(successor) : stop())} />;
  }
  if (doing?.form === "delete" || doing?.form === "erase") {
    const tool = doing.form === "delete" ? "admin_delete_memory" : "admin_purge";
    return <ConfirmForm node={node} tool={tool} would={doing.would} token={doing.token} close={stop} />;
  }
  const may = (tool: string, on = true) => on && memory.acts.has(tool) && node.id !== SELF;
  return (
    <>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <p class="buttons" ref={buttons}>
        {memory.acts.has("admin_update_memory") && whole.isWhole && <button type="button" data-act="edit" onClick={() => setDoing({ form: "edit" })}>Edit</button>}
        {may("remember", !node.outdated && whole.isWhole) && <button type="button" data-act="replace" onClick={() => setDoing({ form: "replace" })}>Replace</button>}
        {may("mark_outdated", !node.outdated) && <button type="button" data-act="retire" onClick={() => setDoing({ form: "retire" })}>Retire</button>}
        {may("admin_connect_memories") && <button type="button" data-act="link" onClick={() => setDoing({ form: "link" })}>Link</button>}
        {may("admin_delete_memory") && <button type="button" data-act="delete" onClick={() => void first("delete")}>Delete</button>}
        {may("admin_purge") && <button type="button" data-act="erase" onClick={() => void first("erase")}>Erase</button>}
        <button type="button" onClick={() => { close(); memory.showMap(node.id); }}>Map</button>
      </p>
      {memory.acts.size > 0 && !memory.acts.has("admin_update_memory") && (
        <p class="quiet">Editing in place, linking and erasing need the open gate: <code>holdfast view --admin</code>.</p>
      )}
    </>
  );
}

function Connections({ node }: { node: Node }) {
  const memory = useMemory();
  if (!node.connections.length) return null;
  return (
    <section>
      <h3>Connections</h3>
      <ul>
        {node.connections.map((each) => (
          <li key={`${each.direction} ${each.type} ${each.id}`}>
            {each.direction === "out" ? `${edgeOf(each.type)} ` : ""}
            <button type="button" class="title" onClick={() => memory.open(each.id)}><bdi>{each.title}</bdi></button>
            {each.direction === "in" ? ` ${edgeOf(each.type)} this` : ""}
            {each.reason && <span class="quiet"> (<Text text={each.reason} />)</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Shown({ whole, close }: { whole: Whole; close: () => void }) {
  const memory = useMemory();
  const { node } = whole;
  return (
    <>
      <h2 id="note-title" dir="auto">{node.title}</h2>
      {node.outdated && (
        <p class="retired">
          <strong>Retired{node.valid_until && ` since ${dateOf(node.valid_until)}`}</strong>
          {node.outdated_reason && <>: <Text text={node.outdated_reason} /></>}
          {node.superseded_by && <> <button type="button" class="link" onClick={() => memory.open(node.superseded_by ?? "")}>See what replaced it</button></>}
        </p>
      )}
      <Text block text={whole.content} />
      {!whole.isWhole && <p class="quiet">The note goes on: its file has all of it.</p>}
      <Acts whole={whole} close={close} key={`${node.id} ${node.updated}`} />
      <dl class="about">
        <Fact name="Type">{node.type}, {node.tier}</Fact>
        <Fact name="Space"><Text text={node.space} /></Fact>
        {node.tags.length > 0 && <Fact name="Tags">{node.tags.map((tag) => <span class="tag" key={tag}><Text text={tag} /></span>)}</Fact>}
        <Fact name="Stored">{dateOf(node.created)} by <Text text={node.source} />, {counted(node.changes, "change")}</Fact>
        {node.event_time && <Fact name="Happened">{dateOf(node.event_time)}</Fact>}
        {node.subject && <Fact name="About"><Text text={node.subject} /></Fact>}
        {(node.type === "belief" || node.confidence < 1) && <Fact name="Confidence">{node.confidence.toFixed(2)}</Fact>}
        <Fact name="File"><code><bdi>{node.path}</bdi></code></Fact>
        <Fact name="Id"><code>{node.id}</code></Fact>
      </dl>
      <Connections node={node} />
    </>
  );
}

export function NoteDialog({ id, close, message }: { id: string; close: () => void; message: ComponentChildren }) {
  const memory = useMemory();
  const dialog = useRef<HTMLDialogElement>(null);
  const loaded = useLoaded(() => wholeNode(memory.server, id), [id, memory.number]);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
    dialog.current?.scrollTo(0, 0);
  }, [id]);
  return (
    <dialog ref={dialog} aria-label="A note" onClose={close}>
      <p class="closing"><button type="button" onClick={() => dialog.current?.close()}>Close</button></p>
      <div role="status" aria-live="polite" class="saying">{message}</div>
      <Waiting loaded={loaded}>{(whole) => <Shown whole={whole} close={() => dialog.current?.close()} />}</Waiting>
    </dialog>
  );
}
