// The words of the View: names of verbs, edges, terms and reasons, and how times are written.

const VERBS: Record<string, string> = {
  remember: "Stored",
  memory_store: "Stored",
  mark_outdated: "Retired",
  update: "Edited",
  admin_update_memory: "Edited",
  admin_connect_memories: "Linked",
  connect: "Linked",
  link: "Linked",
  edge: "Linked",
  merge: "Merged",
  consolidate: "Consolidated",
  retire: "Retired by maintenance",
  undo: "Undone",
  admin_delete_memory: "Put into the trash",
  admin_restore_memory: "Brought back",
  belief_update: "Evidence for a belief",
  adopt: "Written by hand",
  import: "Imported",
};

export const verbOf = (op: string): string => VERBS[op] ?? op.replaceAll("_", " ");

const EDGES: Record<string, string> = {
  superseded_by: "was replaced by",
  contradicts: "contradicts",
  evolved_from: "evolved from",
  related_to: "is related to",
  preceded_by: "came after",
};

export const edgeOf = (type: string): string => EDGES[type] ?? type.replaceAll("_", " ");

export const EDGE_TYPES = [
  "related_to", "supports", "contradicts", "part_of", "defines", "evolved_from", "depends_on", "derived_from",
  "preceded_by", "caused_by", "instance_of",
];

const TERMS: Record<string, string> = {
  words: "words in common",
  meaning: "nearness by meaning",
  session: "the session around it",
  subject: "its subject is named",
  rare: "rare words and identifiers",
  time: "the time asked about",
  other_space: "another space",
  retired: "retired",
  doubt: "lower confidence",
  tier: "core or archival",
  affinity: "feedback on it",
};

export const termOf = (name: string): string => TERMS[name] ?? name;

const HELD: Record<string, string> = {
  retired: "It is retired.",
  earlier: "A newer note about the same matter stands for it.",
  no_question: "The question names nothing that a note could be about.",
  below_floor: "It fits too badly to be shown at all.",
  below_gate: "Nothing fitted well enough, and this did not either.",
  other_time: "It is from another time than the one asked about.",
  beyond_limit: "Better ones took the places there are.",
};

export const heldOf = (why: string): string => HELD[why] ?? why;

const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const month = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", timeZone: "UTC" });

function shown(format: Intl.DateTimeFormat, at: string): string {
  const moment = new Date(at);
  return Number.isNaN(moment.getTime()) ? at : format.format(moment);
}

export const dateOf = (at: string): string => shown(date, at);
export const timeOf = (at: string): string => shown(time, at);
export const monthOf = (name: string): string => shown(month, `${name}-15T00:00:00Z`);

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;
