// The View: what a person sees of the memory. It asks the server through its host and keeps nothing.

import { render } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { AskPanel } from "./ask";
import { StoreForm } from "./forms";
import { sentenceOf } from "./loading";
import { type Around, MapPanel } from "./map";
import { type Done, type Memory, MemoryContext, takeBack } from "./memory";
import { NoteDialog } from "./note";
import { RecentPanel } from "./recent";
import { ReviewPanel } from "./review";
import { Server } from "./server";
import { TimelinePanel } from "./timeline";
import type { Opened, Recent } from "./types";
import { counted } from "./words";

const TABS = ["Recent", "Review", "Ask", "Map", "Timeline"] as const;
type Tab = (typeof TABS)[number];

const SOON = 2_000; // milliseconds between two looks for news, while somebody is at it
const LATER = 20_000; // and when nobody has been for
const IDLE = 300_000;

/** The newest changes, looked for again and again as long as the View can be seen. */
function useRecent(server: Server, space: string): { recent: Recent | undefined; problem: string; look: () => Promise<void> } {
  const [recent, setRecent] = useState<Recent>();
  const [problem, setProblem] = useState("");
  const shown = useRef<{ space: string; recent: Recent } | undefined>(undefined);
  const touched = useRef(Date.now());
  const look = useCallback(async () => {
    const before = shown.current?.space === space ? shown.current.recent : undefined;
    try {
      const found = await server.read<Recent>("view_recent", {
        ...(space ? { space } : {}), ...(before ? { known: before.number } : {}),
      });
      setProblem("");
      if (before && found.unchanged) return;
      shown.current = { space, recent: found };
      setRecent(found);
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  }, [server, space]);
  useEffect(() => {
    let timer = 0;
    let ended = false;
    const again = async () => {
      if (!document.hidden) await look();
      if (!ended) timer = window.setTimeout(() => void again(), Date.now() - touched.current > IDLE ? LATER : SOON);
    };
    const touch = () => (touched.current = Date.now());
    const events = ["pointerdown", "keydown", "focus"] as const;
    events.forEach((name) => window.addEventListener(name, touch));
    void again();
    return () => {
      ended = true;
      window.clearTimeout(timer);
      events.forEach((name) => window.removeEventListener(name, touch));
    };
  }, [look]);
  return { recent, problem, look };
}

function Tabs({ tab, choose }: { tab: Tab; choose: (tab: Tab) => void }) {
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length] ?? tab;
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div role="tablist" aria-label="Views of the memory" onKeyDown={step}>
      {TABS.map((name) => (
        <button
          type="button" role="tab" id={`tab-${name}`} key={name} aria-selected={name === tab} aria-controls="panel"
          tabIndex={name === tab ? 0 : -1} onClick={() => choose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

function Spaces({ spaces, space, choose }: { spaces: string[]; space: string; choose: (space: string) => void }) {
  const all = space && !spaces.includes(space) ? [...spaces, space] : spaces;
  return (
    <label class="space">
      Space{" "}
      <select value={space} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">all</option>
        {all.map((name) => <option value={name} key={name}>{name}</option>)}
      </select>
    </label>
  );
}

function Said({ done, undo, close }: { done: Done & { refused?: boolean }; undo: () => void; close: () => void }) {
  return (
    <div class={done.refused ? "said problem" : "said"}>
      <bdi>{done.said}</bdi>
      {done.change && <button type="button" class="small" onClick={undo}>Undo</button>}
      <button type="button" class="small" onClick={close} aria-label="Close this message">Close</button>
    </div>
  );
}

function View({ server, opened }: { server: Server; opened: Partial<Opened> }) {
  const [tab, setTab] = useState<Tab>(opened.question ? "Ask" : "Recent");
  const [space, setSpace] = useState(opened.space ?? "");
  const [question, setQuestion] = useState(opened.question ?? "");
  const [around, setAround] = useState<Around>({ node: "", question: "" });
  const [note, setNote] = useState(opened.node_id ?? "");
  const [storing, setStoring] = useState(false);
  const [done, setDone] = useState<Done & { refused?: boolean }>();
  const [acted, setActed] = useState(0);
  const { recent, problem, look } = useRecent(server, space);
  const acts = useMemo(() => new Set(recent?.acts ?? []), [recent?.acts.join(" ")]);
  const act = async (work: () => Promise<Done>): Promise<boolean> => {
    try {
      setDone(await work());
      return true;
    } catch (error) {
      setDone({ said: sentenceOf(error), refused: true });
      return false;
    } finally {
      await look();
      setActed((before) => before + 1);
    }
  };
  const stopStoring = () => {
    setStoring(false);
    document.getElementById("store")?.focus();
  };
  const showMap = (next: Around) => {
    setAround(next);
    setTab("Map");
  };
  const memory: Memory = {
    server, acts, space, number: recent?.number ?? 0, acted, open: setNote, showMap: (id) => showMap({ node: id, question: "" }), act,
  };
  const message = done && (
    <Said done={done} undo={() => done.change && void act(() => takeBack(memory, done.change ?? ""))} close={() => setDone(undefined)} />
  );
  return (
    <MemoryContext.Provider value={memory}>
      <header>
        <h1>Memory</h1>
        <p class="quiet">{recent && counted(recent.count, "note")}</p>
        <Spaces spaces={recent?.spaces ?? []} space={space} choose={setSpace} />
        {acts.has("remember") && <button type="button" id="store" onClick={() => setStoring(true)}>Store a note</button>}
        {server.canFill && <button type="button" onClick={() => void server.fill().catch(() => undefined)}>Full screen</button>}
        <Tabs tab={tab} choose={setTab} />
      </header>
      <main>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
        <h2 class="unseen">{tab}</h2>
        {problem && <p class="problem" role="alert">{problem}</p>}
        {storing && <StoreForm close={stopStoring} />}
        {tab === "Recent" && (recent ? <RecentPanel recent={recent} key={space} /> : !problem && <p class="quiet" aria-busy="true">Reading …</p>)}
        {tab === "Review" && <ReviewPanel />}
        {tab === "Ask" && <AskPanel question={question} ask={setQuestion} onMap={(asked) => showMap({ node: "", question: asked })} />}
        {tab === "Map" && <MapPanel around={around} everything={() => setAround({ node: "", question: "" })} />}
        {tab === "Timeline" && <TimelinePanel key={space} />}
      </div>
      </main>
      {note && <NoteDialog id={note} close={() => setNote("")} message={message} />}
      <div role="status" aria-live="polite">{!note && message}</div>
    </MemoryContext.Provider>
  );
}

async function start(): Promise<void> {
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no root");
  const server = new Server();
  let opened: Partial<Opened> = {};
  let draws = 0;
  const draw = () => render(<View server={server} opened={opened} key={draws} />, root);
  try {
    await server.connect((given) => {
      opened = given as Partial<Opened>;
      if (opened.question || opened.node_id || opened.space) draws += 1; // begin there instead
      draw();
    });
    draw();
  } catch (error) {
    render(<p class="problem" role="alert">The host could not be reached: {sentenceOf(error)}</p>, root);
  }
}

void start();
