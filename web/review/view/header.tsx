/** The transaction's name, and its actions. It stays in sight, and so it tells the others its height. */

import type { Facts } from "../model.js";
import { counted, shown } from "../words.js";

type Properties = {
  facts: Facts;
  changes: number;
  /** How many of them a person has marked as viewed. */
  viewed: number;
  /** Comments that are not resolved. */
  comments: number;
  chosen: number;
  isUnified: boolean;
  isBusy: boolean;
  isLost: boolean;
  /** undefined: there are no branches. */
  onBranches: (() => void) | undefined;
  onCommit(): void;
  onUndo(): void;
  onDiscard(): void;
  onUnified(): void;
  onKeys(): void;
};

const height = new ResizeObserver(([entry]) => {
  const { height } = entry?.target.getBoundingClientRect() ?? { height: 0 };
  document.documentElement.style.setProperty("--top", `${height}px`);
});

/** For the `ref` of the page's header. */
export function measured(element: HTMLElement | null): void {
  height.disconnect();
  if (element) height.observe(element);
}

export function Header(properties: Properties) {
  const { facts, changes, viewed, comments, chosen, isUnified, isBusy, isLost } = properties;
  const isOpen = facts.state === "open";
  return (
    <header ref={measured}>
      <div class="title">
        <h1>
          {counted(changes, "change")} to <bdi>{shown(facts.workspace || "the workspace")}</bdi>
        </h1>
        <p>
          transaction <code>{facts.id}</code>, {facts.backend}
          {facts.isLive && isOpen && <span class="live"> · live</span>}
          {isOpen && changes > 0 && (
            <span>
              {" "}
              · {viewed.toLocaleString("en")} of {changes.toLocaleString("en")} viewed
            </span>
          )}
          {comments > 0 && <span> · {counted(comments, "open comment")}</span>}
          {isLost && <strong class="bad"> · the page's server can't be reached</strong>}
        </p>
      </div>
      <div class="actions" role="toolbar" aria-label="actions">
        {properties.onBranches && (
          <button type="button" onClick={properties.onBranches}>
            Compare branches
          </button>
        )}
        <button type="button" aria-pressed={isUnified} onClick={properties.onUnified}>
          Unified
        </button>
        <button type="button" onClick={properties.onKeys}>
          Keys
        </button>
        <button
          type="button"
          disabled={!isOpen || isBusy || !facts.canUndo}
          onClick={properties.onUndo}
        >
          Undo commit
        </button>
        <button
          type="button"
          class="danger"
          disabled={!isOpen || isBusy}
          onClick={properties.onDiscard}
        >
          Discard…
        </button>
        <button
          type="button"
          class="primary"
          disabled={!isOpen || isBusy || chosen === 0}
          onClick={properties.onCommit}
        >
          Commit {chosen === 0 ? "…" : `${counted(chosen, "change")}…`}
        </button>
      </div>
    </header>
  );
}
