/** One change: its two sides, its hunks, and the commands that made it. */

import { useEffect, useState } from "preact/hooks";

import { file } from "../api.js";
import { type Choices, canBeChosen, hasHunk } from "../choices.js";
import type { Hunk, ReviewChange, ReviewRun } from "../model.js";
import { detailWords, shown } from "../words.js";
import { HunkList } from "./hunk-list.js";
import { isDrawing, isPicture, PictureDiff } from "./picture-diff.js";
import { RunView } from "./run-view.js";
import { type DiffHandle, TextDiff } from "./text-diff.js";

type Sides =
  | { kind: "texts"; before: string; after: string }
  | { kind: "binary" }
  | { kind: "failed"; why: string };

/** Decodes UTF-8; undefined for binary content. */
function textOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return "";
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

async function sidesOf(change: ReviewChange): Promise<Sides> {
  try {
    const [before, after] = (
      await Promise.all([file(change, "before"), file(change, "after")])
    ).map(textOf);
    if (before === undefined || after === undefined) return { kind: "binary" };
    return { kind: "texts", before, after };
  } catch (error) {
    return { kind: "failed", why: (error as Error).message };
  }
}

type Properties = {
  change: ReviewChange;
  runs: readonly ReviewRun[];
  choices: Choices;
  isUnified: boolean;
  /** Index of the current hunk; the keys n and p change it. */
  hunk: number;
  onHunks(handle: DiffHandle | undefined): void;
  onHunk(at: number): void;
  onToggleHunk(hunks: readonly Hunk[], at: number): void;
};

export function ChangeView(properties: Properties) {
  const { change, runs, choices, isUnified, hunk, onHunks, onHunk, onToggleHunk } = properties;
  const [sides, setSides] = useState<Sides>();
  const [handle, setHandle] = useState<DiffHandle>();
  const { path, version, kind, type } = change;
  const isFile = type === "file";
  useEffect(() => {
    let isOver = false;
    setSides(undefined);
    if (isFile && (!isPicture(change) || isDrawing(change))) {
      void sidesOf(change).then((found) => {
        if (!isOver) setSides(found);
      });
    }
    return () => {
      isOver = true;
    };
  }, [path, version]);
  const ready = (found: DiffHandle | undefined) => {
    setHandle(found);
    onHunks(found);
  };
  const hasHunks = sides?.kind === "texts" && kind !== "deleted" && kind !== "renamed";
  return (
    <article aria-label={`changes of ${shown(path)}`}>
      <h2>
        <bdi>{shown(path)}</bdi>
      </h2>
      <p class="facts">
        {[kind, type === "file" ? "" : type, ...detailWords(change)].filter(Boolean).join(", ")}
      </p>
      {change.conflict && (
        <p class="warning">
          The host has changed it too since: it can't be committed before one of the two is put
          right.
        </p>
      )}
      {change.protected && (
        <p class="warning">
          Programs of this host run it, or obey it, by themselves: a commit asks once more.
        </p>
      )}
      <RunView
        runs={runs.filter(({ id }) => change.runs.includes(id))}
        title="Commands that made it"
      />
      {isPicture(change) && <PictureDiff change={change} />}
      {isFile && sides === undefined && !isPicture(change) && <p>Loading…</p>}
      {sides?.kind === "binary" && <p>It is no text: only its sizes can be shown.</p>}
      {sides?.kind === "failed" && <p class="warning">It can't be shown: {sides.why}</p>}
      {hasHunks && handle && handle.hunks.length > 1 && (
        <HunkList
          hunks={handle.hunks}
          current={hunk}
          canChoose={canBeChosen(change)}
          isTaken={(at) => hasHunk(choices, path, at)}
          onToggle={(at) => onToggleHunk(handle.hunks, at)}
          onShow={(at) => onHunk(at)}
        />
      )}
      {sides?.kind === "texts" && (
        <TextDiff
          key={`${path} ${version}`}
          path={path}
          before={sides.before}
          after={sides.after}
          isUnified={isUnified || kind === "added" || kind === "deleted"}
          onReady={ready}
        />
      )}
    </article>
  );
}
