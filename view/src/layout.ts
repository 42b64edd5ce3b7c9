// Where the notes of a map stand: a force layout, worked out at once and not animated.

import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import type { SimulationLinkDatum, SimulationNodeDatum } from "d3-force";
import type { Card, Edge, Graph } from "./types";

export const RADIUS = 9;
const TICKS = 160;
const FEW = 40; // notes that stand further apart, so that their titles can be read

export interface Placed extends SimulationNodeDatum {
  note: Card;
  x: number;
  y: number;
}

export interface Line extends SimulationLinkDatum<Placed> {
  edge: Edge;
  source: Placed;
  target: Placed;
}

export interface Layout {
  nodes: Placed[];
  lines: Line[];
  box: { x: number; y: number; width: number; height: number };
}

export function placed(graph: Graph): Layout {
  const nodes = graph.notes.map((note): Placed => ({ note } as Placed));
  const byId = new Map(nodes.map((node) => [node.note.id, node]));
  const lines = graph.edges.flatMap((edge): Line[] => {
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    return source && target ? [{ edge, source, target }] : [];
  });
  const room = nodes.length <= FEW ? 1.7 : 1;
  forceSimulation(nodes)
    .force("links", forceLink<Placed, Line>(lines).distance((line) => room * (line.edge.type === "preceded_by" ? 90 : 60)))
    .force("apart", forceManyBody<Placed>().strength(-140 * room * room).distanceMax(400 * room))
    .force("touching", forceCollide<Placed>(RADIUS * 2 * room))
    .force("x", forceX(0).strength(0.06))
    .force("y", forceY(0).strength(0.08))
    .force("middle", forceCenter(0, 0))
    .stop()
    .tick(TICKS);
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const margin = 60;
  const [leastWidth, leastHeight] = [640, 420]; // a few notes are not drawn larger than many
  const [left, top] = [Math.min(0, ...xs) - margin, Math.min(0, ...ys) - margin];
  const [right, bottom] = [Math.max(0, ...xs) + margin, Math.max(0, ...ys) + margin];
  const [width, height] = [Math.max(leastWidth, right - left), Math.max(leastHeight, bottom - top)];
  const box = { x: (left + right - width) / 2, y: (top + bottom - height) / 2, width, height };
  return { nodes, lines, box };
}
