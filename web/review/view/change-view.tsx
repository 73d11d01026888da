/** One change: its header, its two sides, its hunks, and the commands that made it. */

import { memo } from "preact/compat";
import { useEffect, useMemo, useState } from "preact/hooks";

import { file, type Side } from "../api.js";
import { type Choices, canBeChosen, hasHunk, stateOf } from "../choices.js";
import { type Draft, useDrafts, write } from "../drafts.js";
import type { Hunk, ReviewChange, ReviewComment, ReviewRun } from "../model.js";
import { counted, detailWords, letterOf, shown } from "../words.js";
import { Thread } from "./comments.js";
import { HunkList } from "./hunk-list.js";
import { isDrawing, isPicture, PictureDiff } from "./picture-diff.js";
import { RunView } from "./run-view.js";
import { type DiffHandle, type LineNote, TextDiff } from "./text-diff.js";

/** Both sides of a change. */
export type Sides =
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

/** Loads both sides of a change. */
export async function sidesOf(change: ReviewChange, signal: AbortSignal): Promise<Sides> {
  const { mode, previousMode } = change;
  try {
    const [before, after] = (
      await Promise.all([
        previousMode === 0 ? undefined : file(change, "before", signal),
        mode === 0 ? undefined : file(change, "after", signal),
      ])
    ).map(textOf);
    if (before === undefined || after === undefined) return { kind: "binary" };
    return { kind: "texts", before, after };
  } catch (error) {
    return { kind: "failed", why: (error as Error).message };
  }
}

/** Most bytes of a file that is shown before a person asks for it. */
export const kMostUnasked = 256 * 1024;

/** What a person does with a change. */
export type ChangeActions = {
  onChoose(path: string): void;
  onViewed(change: ReviewChange): void;
  onHunks(path: string, handle: DiffHandle | undefined): void;
  onHunk(path: string, at: number): void;
  onToggleHunk(change: ReviewChange, hunks: readonly Hunk[], at: number): void;
};

type Properties = {
  change: ReviewChange;
  runs: readonly ReviewRun[];
  comments: readonly ReviewComment[];
  choices: Choices;
  isUnified: boolean;
  /** True for a change that a person has opened in the tree, or by the keys. */
  isCurrent: boolean;
  isViewed: boolean;
  /** Index of the current hunk, which the keys n and p change; -1 for none. */
  hunk: number;
  on: ChangeActions;
};

export const ChangeView = memo((properties: Properties) => {
  const { change, choices, comments, isCurrent, isViewed, on } = properties;
  const [isFolded, setFolded] = useState(isViewed);
  const [lines, setLines] = useState<{ added: number; removed: number }>();
  const { path, kind, from } = change;
  const name = shown(path);
  useEffect(() => setFolded(isViewed), [isViewed]);
  const state = stateOf(choices, [path]);
  const open = comments.filter(({ isResolved }) => !isResolved).length;
  const writeOnFile = () => {
    setFolded(false);
    write({ path, side: kind === "deleted" ? "before" : "after" });
  };
  return (
    <article
      aria-label={`changes of ${name}`}
      data-path={path}
      class={isCurrent ? "current" : undefined}
    >
      <div class="file">
        <button
          type="button"
          class="fold"
          aria-expanded={!isFolded}
          aria-label={`contents of ${name}`}
          onClick={() => setFolded(!isFolded)}
        >
          {isFolded ? "▸" : "▾"}
        </button>
        <abbr class={`kind ${kind}`} title={kind}>
          {letterOf(change)}
        </abbr>
        <h2>
          {from !== undefined && (
            <>
              <bdi>{shown(from)}</bdi> →{" "}
            </>
          )}
          <bdi>{name}</bdi>
        </h2>
        {lines && (
          <span class="lines">
            <span class="good">+{lines.added.toLocaleString("en")}</span>{" "}
            <span class="bad">−{lines.removed.toLocaleString("en")}</span>
            <span class="sr"> lines</span>
          </span>
        )}
        {open > 0 && <span class="tag comments">{counted(open, "comment")}</span>}
        <button type="button" class="write" onClick={writeOnFile}>
          Comment<span class="sr"> on {name}</span>
        </button>
        <label>
          <input
            type="checkbox"
            checked={state === "all"}
            disabled={!canBeChosen(change)}
            ref={(box) => {
              if (box) box.indeterminate = state === "some";
            }}
            onChange={() => on.onChoose(path)}
          />
          Commit<span class="sr"> {name}</span>
        </label>
        <label>
          <input type="checkbox" checked={isViewed} onChange={() => on.onViewed(change)} />
          Viewed<span class="sr"> {name}</span>
        </label>
      </div>
      {!isFolded && <Contents {...properties} onLines={setLines} />}
    </article>
  );
});

const kNoNotes = { notes: [], away: [], awayDrafts: [] };

type ContentsProperties = Properties & {
  onLines(lines: { added: number; removed: number }): void;
};

/** Comments and drafts of a change: those below their lines, and the others. */
function placed(
  sides: Sides | undefined,
  comments: readonly ReviewComment[],
  drafts: readonly Draft[],
) {
  const lines =
    sides?.kind === "texts" && sides.before !== sides.after
      ? { before: sides.before.split("\n"), after: sides.after.split("\n") }
      : undefined;
  const isBelow = (side: Side, line: number | undefined, lineText = "") =>
    line !== undefined && lines?.[side][line - 1]?.slice(0, kMostLineText) === lineText;
  const below = new Map<string, { side: Side; line: number; comments: ReviewComment[] }>();
  const away: ReviewComment[] = [];
  const keyOf = (side: Side, line: number) => `${side}:${line}`;
  const at = (side: Side, line: number) => {
    const found = below.get(keyOf(side, line)) ?? { side, line, comments: [] };
    below.set(keyOf(side, line), found);
    return found;
  };
  for (const comment of comments) {
    const { side, line, lineText, isOutdated } = comment;
    if (!isOutdated && line !== undefined && isBelow(side, line, lineText)) {
      at(side, line).comments.push(comment);
    } else away.push(comment);
  }
  const awayDrafts: Draft[] = [];
  for (const draft of drafts) {
    const { side, line, lineText } = draft.place;
    if (draft.id !== undefined) {
      if (away.some(({ id }) => id === draft.id)) awayDrafts.push(draft);
    } else if (line !== undefined && isBelow(side, line, lineText)) at(side, line);
    else awayDrafts.push(draft);
  }
  const notes = [...below].map(([key, { side, line, comments }]): LineNote => {
    const own = drafts.filter(
      ({ id, place }) =>
        comments.some((comment) => comment.id === id) ||
        (id === undefined &&
          place.side === side &&
          place.line === line &&
          !awayDrafts.some((each) => each.place === place)),
    );
    return { key, side, line, content: <Thread comments={comments} drafts={own} /> };
  });
  return { notes, away, awayDrafts };
}
const kMostLineText = 1000;

function Contents(properties: ContentsProperties) {
  const { change, runs, comments, choices, isUnified, isCurrent, hunk, on, onLines } = properties;
  const [sides, setSides] = useState<Sides>();
  const [handle, setHandle] = useState<DiffHandle>();
  const [isAsked, setAsked] = useState(false);
  const { path, version, kind, type, size, previousSize } = change;
  const isText = type === "file" && (!isPicture(change) || isDrawing(change));
  const isWanted = isCurrent || isAsked || Math.max(size, previousSize) <= kMostUnasked;
  useEffect(() => {
    if (isCurrent) setAsked(true);
  }, [isCurrent]);
  useEffect(() => {
    const over = new AbortController();
    setSides(undefined);
    if (isText && isWanted) {
      void sidesOf(change, over.signal).then((found) => {
        if (!over.signal.aborted) setSides(found);
      });
    }
    return () => over.abort();
  }, [path, version, isWanted]);
  const ready = (found: DiffHandle | undefined) => {
    setHandle(found);
    on.onHunks(path, found);
    if (found) onLines(found);
  };
  const hasHunks = sides?.kind === "texts" && kind !== "deleted" && kind !== "renamed";
  const own = runs.filter(({ id }) => change.runs.includes(id));
  const drafts = useDrafts((each) => each === path);
  const isEmpty = comments.length === 0 && drafts.length === 0;
  const { notes, away, awayDrafts } = isEmpty ? kNoNotes : placed(sides, comments, drafts);
  const isKnown = sides !== undefined || !isText || !isWanted;
  const commentable = useMemo(() => {
    const { mode, previousMode } = change;
    const all: Side[] = previousMode === 0 ? [] : ["before"];
    return kind === "deleted" || mode === 0 ? all : [...all, "after" as const];
  }, [change]);
  return (
    <>
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
      {isKnown && away.length + awayDrafts.length > 0 && (
        <Thread comments={away} drafts={awayDrafts} isAway />
      )}
      {own.length > 0 && <RunView runs={own} title="Commands that made it" />}
      {isPicture(change) && <PictureDiff change={change} />}
      {isText && !isWanted && (
        <p class="ask">
          <button type="button" onClick={() => setAsked(true)}>
            Show this large file
          </button>
        </p>
      )}
      {isText && isWanted && sides === undefined && <p class="facts">Loading…</p>}
      {sides?.kind === "binary" && <p class="facts">It is no text: only its sizes can be shown.</p>}
      {sides?.kind === "failed" && <p class="warning">It can't be shown: {sides.why}</p>}
      {hasHunks && handle && handle.hunks.length > 1 && (
        <HunkList
          hunks={handle.hunks}
          current={hunk}
          canChoose={canBeChosen(change)}
          isTaken={(at) => hasHunk(choices, path, at)}
          onToggle={(at) => on.onToggleHunk(change, handle.hunks, at)}
          onShow={(at) => on.onHunk(path, at)}
        />
      )}
      {sides?.kind === "texts" && sides.before === sides.after && (
        <p class="facts">Its content is {sides.after === "" ? "empty" : "the same"}.</p>
      )}
      {sides?.kind === "texts" && sides.before !== sides.after && (
        <TextDiff
          key={`${path} ${version}`}
          path={path}
          before={sides.before}
          after={sides.after}
          isUnified={isUnified || kind === "added" || kind === "deleted"}
          sides={commentable}
          notes={notes}
          onReady={ready}
          onWrite={write}
        />
      )}
    </>
  );
}
