// Notes and the links between them, around a note, a question or a space.

import { select } from "d3-selection";
import { zoom } from "d3-zoom";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Title } from "./cards";
import { type Layout, type Line, placed, RADIUS } from "./layout";
import { useLoaded, Waiting } from "./loading";
import { useMemory } from "./memory";
import type { Card, Graph } from "./types";
import { counted, edgeOf } from "./words";

export interface Around {
  node: string;
  question: string;
}

const MARKED = ["superseded_by", "contradicts", "evolved_from"];
const kindOf = (type: string): string => (MARKED.includes(type) ? type : "other");

const short = (title: string): string => {
  const letters = [...title];
  return letters.length > 28 ? `${letters.slice(0, 27).join("")}…` : title;
};

function Edge({ line }: { line: Line }) {
  const { source, target, edge } = line;
  const length = Math.hypot(target.x - source.x, target.y - source.y) || 1;
  const [dx, dy] = [((target.x - source.x) / length) * (RADIUS + 3), ((target.y - source.y) / length) * (RADIUS + 3)];
  const kind = kindOf(edge.type);
  return (
    <line
      class={`edge ${kind}`} x1={source.x + dx} y1={source.y + dy} x2={target.x - dx} y2={target.y - dy}
      marker-end={kind === "contradicts" ? undefined : `url(#arrow-${kind})`}
    >
      <title>{source.note.title} {edgeOf(edge.type)} {target.note.title}</title>
    </line>
  );
}

/** Without links that say of two notes, once more, that one replaced the other. */
function drawn(lines: Line[]): Line[] {
  const replaced = new Set(lines.filter(({ edge }) => edge.type === "superseded_by").map(({ edge }) => `${edge.target} ${edge.source}`));
  return lines.filter(({ edge }) => edge.type !== "evolved_from" || !replaced.has(`${edge.source} ${edge.target}`));
}

function Drawing({ layout, seeds }: { layout: Layout; seeds: ReadonlySet<string> }) {
  const memory = useMemory();
  const svg = useRef<SVGSVGElement>(null);
  const inside = useRef<SVGGElement>(null);
  useEffect(() => {
    if (!svg.current) return;
    const moving = zoom<SVGSVGElement, unknown>().scaleExtent([0.3, 6]).on("zoom", ({ transform }) => {
      inside.current?.setAttribute("transform", String(transform));
    });
    select(svg.current).call(moving).on("dblclick.zoom", null);
    return () => {
      if (svg.current) select(svg.current).on(".zoom", null);
    };
  }, [layout]);
  const { x, y, width, height } = layout.box;
  return (
    <svg ref={svg} class="map" viewBox={`${x} ${y} ${width} ${height}`} role="group" aria-label="Map of notes and links">
      <defs>
        {[...MARKED, "other"].map((kind) => (
          <marker key={kind} id={`arrow-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0,0 L8,4 L0,8 z" class={`tip ${kind}`} />
          </marker>
        ))}
      </defs>
      <g ref={inside}>
        <g aria-hidden="true">
          {drawn(layout.lines).map((line) => <Edge line={line} key={`${line.edge.source} ${line.edge.target} ${line.edge.type}`} />)}
        </g>
        {layout.nodes.map(({ note, x: left, y: top }) => (
          <g
            key={note.id} class={`node ${note.outdated ? "outdated" : ""} ${seeds.has(note.id) ? "seed" : ""} ${note.tier}`}
            transform={`translate(${left},${top})`} role="button" tabindex={0} data-note={note.id}
            aria-label={`${note.title}, ${note.type}${note.outdated ? ", retired" : ""}`}
            onClick={() => memory.open(note.id)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" && event.key !== " ") return;
              event.preventDefault();
              memory.open(note.id);
            }}
          >
            <circle r={RADIUS} />
          </g>
        ))}
        <g aria-hidden="true">
          {layout.nodes.map(({ note, x: left, y: top }) => (
            <text key={note.id} class="label" x={left} y={top + RADIUS + 12}>{short(note.title)}</text>
          ))}
        </g>
      </g>
    </svg>
  );
}

function Legend() {
  return (
    <ul class="legend">
      <li><span class="sample seed" /> what was asked for</li>
      <li><span class="sample outdated" /> retired</li>
      <li><span class="sample line superseded_by" /> was replaced by</li>
      <li><span class="sample line contradicts" /> contradict each other</li>
    </ul>
  );
}

/** The same as a list, for readers of the screen and for whoever likes lists. */
function AsList({ graph }: { graph: Graph }) {
  const notes = new Map<string, Card>(graph.notes.map((note) => [note.id, note]));
  return (
    <details class="section">
      <summary>As a list</summary>
      <ul class="plain">
        {graph.notes.map((note) => (
          <li key={note.id}>
            <Title note={note} />
            <ul>
              {graph.edges.filter((edge) => edge.source === note.id).map((edge) => {
                const target = notes.get(edge.target);
                return target && <li key={`${edge.type} ${edge.target}`}>{edgeOf(edge.type)} <Title note={target} /></li>;
              })}
            </ul>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Shown({ graph }: { graph: Graph }) {
  const layout = useMemo(() => placed(graph), [graph]);
  const seeds = useMemo(() => new Set(graph.seeds), [graph]);
  if (!graph.notes.length) return <p class="quiet">There is nothing to draw here.</p>;
  return (
    <>
      <p class="quiet">
        {counted(graph.notes.length, "note")} and {counted(graph.edges.length, "link")}
        {graph.total > graph.notes.length && ` of ${counted(graph.total, "note")} that would fit: the nearest and foremost`}
      </p>
      <Drawing layout={layout} seeds={seeds} />
      <Legend />
      <AsList graph={graph} />
    </>
  );
}

export function MapPanel({ around, everything }: { around: Around; everything: () => void }) {
  const memory = useMemory();
  const given = {
    ...(around.node ? { node_id: around.node } : {}),
    ...(around.question ? { question: around.question } : {}),
    ...(memory.space ? { space: memory.space } : {}),
  };
  const loaded = useLoaded(
    () => memory.server.read<Graph>("view_map", given), [around.node, around.question, memory.space, memory.number],
  );
  return (
    <>
      {(around.node || around.question) && (
        <p>
          Around {around.node ? "a note" : <>“<bdi>{around.question}</bdi>”</>}.{" "}
          <button type="button" class="link" onClick={everything}>Show {memory.space ? "the whole space" : "everything"}</button>
        </p>
      )}
      <Waiting loaded={loaded}>{(graph) => <Shown graph={graph} />}</Waiting>
    </>
  );
}
