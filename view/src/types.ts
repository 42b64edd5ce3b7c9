// What the View's tools answer; see server/holdfast/tools/view/shapes.py.

export interface Card {
  id: string;
  title: string;
  text: string;
  type: string;
  tier: string;
  space: string;
  tags: string[];
  created: string;
  updated: string;
  happened: string;
  confidence: number;
  outdated: boolean;
  outdated_reason: string;
  superseded_by: string;
}

export interface Change {
  change_id: string;
  op: string;
  at: string;
  by: string;
  source: string;
  undone_by: string;
  own: boolean;
  notes: Card[];
  gone: string[];
  more: number;
}

export interface Recent {
  unchanged: boolean;
  number: number;
  count: number;
  spaces: string[];
  space: string;
  acts: string[];
  changes: Change[];
  before: number;
}

export interface Pair {
  first: string;
  second: string;
  reason: string;
  similarity: number;
}

export interface Proposal {
  id: string;
  kind: string;
  created: string;
  by: string;
  notes: string[];
  title: string;
  content: string;
  reason: string;
  keep: string;
  edge: string;
}

export interface Review {
  proposals: Proposal[];
  count_proposals: number;
  opposed: Pair[];
  doubted: { id: string; standing: string }[];
  quarantined: { path: string; reason: string }[];
  count_quarantined: number;
  notes: Card[];
}

/** Pairs around some notes: `looked` of `total` have been looked at. */
export interface Pairs {
  conflicts: Pair[];
  alike: Pair[];
  notes: Card[];
  looked: number;
  total: number;
}

export interface Reason {
  note: Card;
  relevance: number;
  score: number;
  weak: boolean;
  listed: boolean;
  coverage: number;
  z: number | null;
  matched: string[];
  terms: { name: string; value: number }[];
  why: string;
  earlier: string[];
  belief: string;
}

export interface Held {
  hit: Reason;
  why: string;
  lacking: number | null;
  instead: string;
}

export interface Inspected {
  hits: Reason[];
  held: Held[];
  space: string;
  after: string;
  before: string;
  time_words: string;
  elsewhen: boolean;
  by_meaning: boolean;
  described: string;
  event_id: string;
  gate: number;
  floor: number;
  weak: number;
  notices: string[];
}

export interface Edge {
  source: string;
  target: string;
  type: string;
  weight: number;
  reason: string;
}

export interface Graph {
  notes: Card[];
  edges: Edge[];
  seeds: string[];
  total: number;
}

export interface Timeline {
  notes: Card[];
  offset: number;
  total: number;
  months: { month: string; count: number; retired: number }[];
}

/** The answer of `recall_node`. */
export interface Node {
  id: string;
  type: string;
  title: string;
  tier: string;
  space: string;
  tags: string[];
  content: string;
  confidence: number;
  created: string;
  updated: string;
  event_time: string | null;
  valid_until: string | null;
  outdated: boolean;
  outdated_reason: string | null;
  superseded_by: string | null;
  subject: string | null;
  source: string;
  path: string;
  connections: { id: string; title: string; type: string; weight: number; direction: string; reason: string }[];
  changes: number;
  notices: string[];
}

/** The answer of `memory_view`: what the View begins with. */
export interface Opened {
  shown: boolean;
  question: string;
  node_id: string;
  space: string;
}
