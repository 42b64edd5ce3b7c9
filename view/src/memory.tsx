// What every part of the View shares: the server, what may be done here, and how something is done.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Server } from "./server";

/** The outcome of an act: what is said of it, and the change to take back, if it can be. */
export interface Done {
  said: string;
  change?: string | null;
}

export interface Memory {
  server: Server;
  /** The tools with which whoever looks may change something. */
  acts: ReadonlySet<string>;
  /** The space that is looked at; empty for all. */
  space: string;
  /** Another number after each change of the memory. */
  number: number;
  /** How often something was done here. */
  acted: number;
  open: (id: string) => void;
  showMap: (id: string) => void;
  /** Do something, say how it ended, and look again; false where it was refused. */
  act: (work: () => Promise<Done>) => Promise<boolean>;
}

export const MemoryContext = createContext<Memory | null>(null);

export function useMemory(): Memory {
  const memory = useContext(MemoryContext);
  if (!memory) throw new Error("outside of the memory");
  return memory;
}

/** Take a change back: behind the gate any, else one's own of the last hour. */
export async function takeBack(memory: Pick<Memory, "server" | "acts">, change: string): Promise<Done> {
  if (memory.acts.has("admin_undo")) {
    const { data } = await memory.server.call<{ change_id: string | null }>("admin_undo", { change_id: change });
    return { said: "Undone.", change: data?.change_id ?? null };
  }
  const { data } = await memory.server.call<{ change_id: string | null }>("mark_outdated", { undo: change });
  return { said: "Undone.", change: data?.change_id ?? null };
}
