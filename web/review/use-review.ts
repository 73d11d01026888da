/** Loads the state of the transaction, and updates it while commands run. */

import { useEffect, useRef, useState } from "preact/hooks";

import * as api from "./api.js";
import type { Facts, ReviewChange, ReviewComment, ReviewRun } from "./model.js";

export type Seen = {
  facts?: Facts;
  changes?: readonly ReviewChange[];
  runs: readonly ReviewRun[];
  comments: readonly ReviewComment[];
  /** Why the state could not be loaded. */
  failure?: string;
  isLost: boolean;
};

/** Returns the former comments where nothing is new, so that nothing is made anew for them. */
const kept = (before: readonly ReviewComment[], now: readonly ReviewComment[]) =>
  JSON.stringify(before) === JSON.stringify(now) ? before : now;

/** @param onChanges called with each list of changes, including the first */
export function useReview(onChanges: (changes: readonly ReviewChange[]) => void) {
  const [seen, setSeen] = useState<Seen>({ runs: [], comments: [], isLost: false });
  const latest = useRef<Promise<void>>(Promise.resolve());
  const asked = useRef(0);
  const tell = useRef(onChanges);
  tell.current = onChanges;
  const lookAtComments = async (): Promise<void> => {
    const comments = await api.comments();
    setSeen((now) => ({ ...now, comments: kept(now.comments, comments) }));
  };
  const look = async (own: number): Promise<void> => {
    try {
      const facts = await api.facts();
      if (facts.state !== "open") {
        setSeen((now) => ({ ...now, facts, changes: [] }));
        return await lookAtComments();
      }
      const [{ changes }, runs, comments] = await Promise.all([
        api.changes(),
        api.runs(),
        api.comments(),
      ]);
      if (own !== asked.current) return latest.current; // the one that began later
      tell.current(changes);
      setSeen((now) => ({
        ...{ facts, changes, runs, isLost: false },
        comments: kept(now.comments, comments),
      }));
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
      if (event === "branches") return; // it is no branch
      if (event === "comments") return void lookAtComments().catch(() => {}); // it is lost: `back` looks
      if (event === "lost" || event === "back") {
        setSeen((now) => ({ ...now, isLost: event === "lost" }));
        if (event === "lost") return;
      }
      void load();
    });
  }, []);
  return { seen, load };
}
