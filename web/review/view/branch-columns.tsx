/** One path in each branch, side by side; on a narrow screen, in the one branch that is chosen. */

import { memo } from "preact/compat";
import { useEffect, useState } from "preact/hooks";

import { write } from "../drafts.js";
import type { ReviewChange } from "../model.js";
import type { Column } from "../use-branches.js";
import { detailWords, letterOf, shown } from "../words.js";
import { kMostUnasked, type Sides, sidesOf } from "./change-view.js";
import { isDrawing, isPicture, PictureDiff } from "./picture-diff.js";
import { TextDiff } from "./text-diff.js";

type Properties = {
  path: string;
  columns: readonly Column[];
  isCurrent: boolean;
  isBusy: boolean;
  onTake(column: Column, change: ReviewChange): void;
};

const isText = (change: ReviewChange) =>
  change.type === "file" && (!isPicture(change) || isDrawing(change));

/** Loads the sides of a path in each branch that has changed it. */
function useSides(changes: readonly (ReviewChange | undefined)[], isWanted: boolean) {
  const [sides, setSides] = useState<readonly (Sides | undefined)[]>([]);
  const key = changes.map((change) => change?.version ?? "").join("\n");
  useEffect(() => {
    const over = new AbortController();
    setSides([]);
    if (isWanted) {
      const all = changes.map((change) =>
        change && isText(change) ? sidesOf(change, over.signal) : undefined,
      );
      void Promise.all(all).then((found) => {
        if (!over.signal.aborted) setSides(found);
      });
    }
    return () => over.abort();
  }, [key, isWanted]);
  return sides;
}

export const BranchColumns = memo(({ path, columns, isCurrent, isBusy, onTake }: Properties) => {
  const [isAsked, setAsked] = useState(false);
  const changes = columns.map(({ byPath }) => byPath.get(path));
  const largest = Math.max(
    ...changes.map((change) => (change ? Math.max(change.size, change.previousSize) : 0)),
  );
  const isWanted = isAsked || largest <= kMostUnasked;
  const sides = useSides(changes, isWanted);
  const name = shown(path);
  return (
    <article
      aria-label={`${name} in each branch`}
      data-path={path}
      class={isCurrent ? "current" : undefined}
    >
      <div class="file">
        <h2>
          <bdi>{name}</bdi>
        </h2>
      </div>
      <div class="columns">
        {columns.map((column, at) => {
          const change = changes[at];
          const own = sides[at];
          const same = columns.find(
            (_, other) =>
              other < at && areSame(own, sides[other]) && change?.mode === changes[other]?.mode,
          );
          return (
            <section
              key={column.id}
              class={`column${change ? "" : " none"}`}
              data-branch={column.id}
              aria-label={`${name} in ${shown(column.name)}`}
            >
              <p class="head">
                {change && (
                  <abbr class={`kind ${change.kind}`} title={change.kind}>
                    {letterOf(change)}
                  </abbr>
                )}
                <strong>
                  <bdi>{shown(column.name)}</bdi>
                </strong>
                {change && (
                  <button
                    type="button"
                    disabled={isBusy || change.isUnnamed || column.state !== "open"}
                    onClick={() => onTake(column, change)}
                  >
                    Take
                    <span class="sr">
                      {" "}
                      {name} of {shown(column.name)}
                    </span>
                  </button>
                )}
              </p>
              {change === undefined ? (
                <p class="facts">{column.isLoading ? "loading…" : "not changed"}</p>
              ) : (
                <>
                  <p class="facts">
                    {[
                      change.kind,
                      change.type === "file" ? "" : change.type,
                      ...detailWords(change),
                    ]
                      .filter(Boolean)
                      .join(", ")}
                  </p>
                  {change.conflict && (
                    <p class="warning">The host has changed it too since: a commit is refused.</p>
                  )}
                  {isPicture(change) && <PictureDiff change={change} />}
                  {same ? (
                    <p class="facts">
                      the same as in <bdi>{shown(same.name)}</bdi>
                    </p>
                  ) : (
                    <SidesView path={path} change={change} sides={own} />
                  )}
                </>
              )}
            </section>
          );
        })}
      </div>
      {!isWanted && (
        <p class="ask">
          <button type="button" onClick={() => setAsked(true)}>
            Show this large file
          </button>
        </p>
      )}
    </article>
  );
});

function areSame(one: Sides | undefined, other: Sides | undefined): boolean {
  if (one?.kind !== "texts" || other?.kind !== "texts") return false;
  return one.before === other.before && one.after === other.after;
}

const kNoSides: readonly [] = [];
const kNoNotes: readonly [] = [];

type SidesProperties = { path: string; change: ReviewChange; sides: Sides | undefined };

/** The two sides of a path in one branch. */
function SidesView({ path, change, sides }: SidesProperties) {
  if (sides === undefined) return null;
  if (sides.kind === "binary") return <p class="facts">no text: only its sizes can be shown</p>;
  if (sides.kind === "failed") return <p class="warning">It can't be shown: {sides.why}</p>;
  if (sides.before === sides.after) {
    return <p class="facts">its content is {sides.after === "" ? "empty" : "the same"}</p>;
  }
  return (
    <TextDiff
      key={`${change.branch} ${change.version}`}
      path={path}
      before={sides.before}
      after={sides.after}
      isUnified
      sides={kNoSides}
      notes={kNoNotes}
      onReady={() => {}}
      onWrite={write}
    />
  );
}
