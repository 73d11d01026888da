/** The transaction's name, and its actions. */

import type { Facts } from "../model.js";
import { counted, shown } from "../words.js";

type Properties = {
  facts: Facts;
  changes: number;
  chosen: number;
  isUnified: boolean;
  isBusy: boolean;
  isLost: boolean;
  onCommit(): void;
  onUndo(): void;
  onDiscard(): void;
  onUnified(): void;
  onKeys(): void;
};

export function Header(properties: Properties) {
  const { facts, changes, chosen, isUnified, isBusy, isLost } = properties;
  const isOpen = facts.state === "open";
  return (
    <header>
      <div class="title">
        <h1>
          {counted(changes, "change")} to <bdi>{shown(facts.workspace || "the workspace")}</bdi>
        </h1>
        <p>
          transaction <code>{facts.id}</code>, {facts.backend}
          {facts.isLive && isOpen && <span class="live"> · live</span>}
          {isLost && <strong class="bad"> · the page's server can't be reached</strong>}
        </p>
      </div>
      <div class="actions" role="toolbar" aria-label="actions">
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
