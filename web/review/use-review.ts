/** Loads the state of the transaction, and updates it while commands run. */

import { useEffect, useRef, useState } from "preact/hooks";

import * as api from "./api.js";
import type { Facts, ReviewChange, ReviewRun } from "./model.js";

export type Seen = {
  facts?: Facts;
  changes?: readonly ReviewChange[];
  runs: readonly ReviewRun[];
  /** Why the state could not be loaded. */
  failure?: string;
  isLost: boolean;
};

/** @param onChanges called with each list of changes, including the first */
export function useReview(onChanges: (changes: readonly ReviewChange[]) => void) {
  const [seen, setSeen] = useState<Seen>({ runs: [], isLost: false });
  const latest = useRef<Promise<void>>(Promise.resolve());
  const asked = useRef(0);
  const tell = useRef(onChanges);
  tell.current = onChanges;
  const look = async (own: number): Promise<void> => {
    try {
      const facts = await api.facts();
      if (facts.state !== "open") {
        setSeen((now) => ({ ...now, facts, changes: [] }));
        return;
      }
      const [{ changes }, runs] = await Promise.all([api.changes(), api.runs()]);
      if (own !== asked.current) return latest.current; // the one that began later
      tell.current(changes);
      setSeen({ facts, changes, runs, isLost: false });
    } catch (error) {
      setSeen((now) => ({ ...now, failure: (error as Error).message }));
    }
  };
  /** Resolves when the state at the time of the call, or a later one, is shown. */
  const load = (): Promise<void> => {
    asked.current += 1;
    latest.current = look(asked.current);
    return latest.current;
  };
  useEffect(() => {
    void load();
    return api.listen((event) => {
      if (event === "lost" || event === "back") {
        setSeen((now) => ({ ...now, isLost: event === "lost" }));
        if (event === "lost") return;
      }
      void load();
    });
  }, []);
  return { seen, load };
}
