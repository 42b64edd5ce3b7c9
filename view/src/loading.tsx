// Reading something from the server for as long as it is shown, again when the memory has changed.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "./server";

export interface Loaded<Data> {
  data: Data | undefined;
  problem: string;
}

export const sentenceOf = (error: unknown): string =>
  error instanceof Refusal ? error.message : error instanceof Error ? `${error.name}: ${error.message}` : String(error);

/** What `read` gives; asked again when one of `on` changes. What was there stays until the answer comes. */
export function useLoaded<Data>(read: () => Promise<Data>, on: readonly unknown[]): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>({ data: undefined, problem: "" });
  useEffect(() => {
    let current = true;
    read().then(
      (data) => current && setLoaded({ data, problem: "" }),
      (error: unknown) => current && setLoaded((before) => ({ data: before.data, problem: sentenceOf(error) })),
    );
    return () => {
      current = false;
    };
  }, on);
  return loaded;
}

export function Waiting<Data>(given: { loaded: Loaded<Data>; children: (data: Data) => ComponentChildren }) {
  const { data, problem } = given.loaded;
  return (
    <>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {data === undefined ? !problem && <p class="quiet" aria-busy="true">Reading …</p> : given.children(data)}
    </>
  );
}
