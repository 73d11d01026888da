/** Loads the branches, each with its changes, and updates them while commands run in them. */

import { useEffect, useRef, useState } from "preact/hooks";

import * as api from "./api.js";
import type { Facts, LineCounts, ReviewChange, SentBranch } from "./model.js";

/** A column of the page: a branch, or the transaction that takes what is chosen. */
export type Column = SentBranch & {
  revision: number;
  changes: readonly ReviewChange[];
  byPath: ReadonlyMap<string, ReviewChange>;
  /** True until its changes are there. */
  isLoading?: true;
  /** undefined: not counted yet; null: they are too many. */
  lines: LineCounts | null | undefined;
};

export type SeenBranches = {
  facts?: Facts;
  /** undefined: not loaded yet. */
  columns?: readonly Column[];
  /** What the transaction itself has changed. */
  own: readonly ReviewChange[];
  canTakeBack: boolean;
  failure?: string;
  isLost: boolean;
};

const kNone: readonly ReviewChange[] = [];

/** Returns the column of a branch whose changes are not there yet. */
const loading = (branch: SentBranch): Column => ({
  ...branch,
  ...{ revision: -1, changes: kNone, byPath: new Map(), isLoading: true, lines: undefined },
});

/** Returns a branch's column; the former one where it has not changed, so that nothing is made anew for it. */
async function columnOf(branch: SentBranch, before: Column | undefined): Promise<Column> {
  if (branch.state !== "open") {
    return { ...branch, revision: -1, changes: kNone, byPath: new Map(), lines: null };
  }
  const { revision, changes } = await api.changesOf(branch.id);
  if (before && before.revision === revision && before.state === branch.state) return before;
  const byPath = new Map(changes.map((change) => [change.path, change]));
  return { ...branch, revision, changes, byPath, lines: undefined };
}

export function useBranches() {
  const [seen, setSeen] = useState<SeenBranches>({ own: kNone, canTakeBack: false, isLost: false });
  const running = useRef<Promise<void> | undefined>(undefined);
  const next = useRef<Promise<void> | undefined>(undefined);
  const wasLost = useRef(false);
  const known = useRef<readonly Column[]>([]);
  const hasNone = useRef(false);
  const count = async (columns: readonly Column[]) => {
    for (const { id, revision, lines, state } of columns) {
      if (lines !== undefined || state !== "open") continue;
      const counted = (await api.linesOf(id).catch(() => undefined)) ?? null;
      known.current = known.current.map((each) =>
        each.id === id && each.revision === revision ? { ...each, lines: counted } : each,
      );
      setSeen((now) => ({ ...now, columns: known.current }));
    }
  };
  const look = async (): Promise<void> => {
    try {
      const facts = await api.facts();
      if (facts.branches === 0) {
        hasNone.current = true;
        return setSeen((now) => ({ ...now, facts, columns: [] }));
      }
      const [{ branches, canTakeBack }, target] = await Promise.all([
        api.branches(),
        facts.state === "open" ? api.changes() : { changes: [] },
      ]);
      const isFirst = known.current.length === 0;
      const columns = branches.map(loading);
      for (const [at, branch] of branches.entries()) {
        const before = known.current.find(({ id }) => id === branch.id);
        columns[at] = await columnOf(branch, before);
        // The first one is shown before the others are there.
        if (isFirst && at === 0) {
          const some = [...columns];
          setSeen({ facts, columns: some, own: target.changes, canTakeBack, isLost: false });
        }
      }
      known.current = columns;
      setSeen({ facts, columns, own: target.changes, canTakeBack, isLost: false });
      void count(columns);
    } catch (error) {
      setSeen((now) => ({ ...now, failure: (error as Error).message }));
    }
  };
  /** Resolves when the state at the time of the call, or a later one, is shown. One look at a time. */
  const load = (): Promise<void> => {
    if (running.current) {
      next.current ??= running.current.then(() => {
        next.current = undefined;
        return load();
      });
      return next.current;
    }
    running.current = look().finally(() => {
      running.current = undefined;
    });
    return running.current;
  };
  useEffect(() => {
    void load();
    return api.listen((event) => {
      if (hasNone.current || event === "comments" || event === "runs") return;
      if (event === "lost" || event === "back") {
        const isAgain = wasLost.current;
        wasLost.current = event === "lost";
        setSeen((now) => ({ ...now, isLost: wasLost.current }));
        if (event === "lost" || !isAgain) return;
      }
      void load();
    });
  }, []);
  return { seen, load };
}

/** Returns the changes of all columns, each path once, in the order of the paths. Pure. */
export function unionOf(columns: readonly Column[]): readonly ReviewChange[] {
  const byPath = new Map<string, ReviewChange>();
  for (const { changes } of columns) {
    for (const change of changes) {
      const { path, version, size, previousSize } = change;
      const known = byPath.get(path);
      if (known === undefined) {
        const { conflict, from, target, ...rest } = change;
        byPath.set(path, { ...rest, runs: [] });
        continue;
      }
      known.version += ` ${version}`;
      known.size = Math.max(known.size, size);
      known.previousSize = Math.max(known.previousSize, previousSize);
      if (change.protected) known.protected = true;
    }
  }
  return [...byPath.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}
