/** The hunks of a file, each with a checkbox. */

import type { Hunk } from "../model.js";
import { counted } from "../words.js";

type Properties = {
  hunks: readonly Hunk[];
  current: number;
  canChoose: boolean;
  isTaken(at: number): boolean;
  onToggle(at: number): void;
  onShow(at: number): void;
};

function linesWords({ fromBefore, toBefore, fromAfter, toAfter }: Hunk): string {
  const removed = toBefore - fromBefore;
  const added = toAfter - fromAfter;
  const parts = [removed > 0 ? `−${removed}` : "", added > 0 ? `+${added}` : ""].filter(Boolean);
  return `line ${fromAfter + 1}: ${parts.join(" ")}`;
}

const kMost = 500;

export function HunkList({ hunks, current, canChoose, isTaken, onToggle, onShow }: Properties) {
  return (
    <fieldset class="hunks">
      <legend>{counted(hunks.length, "hunk")}</legend>
      <ol>
        {hunks.slice(0, kMost).map((hunk, at) => (
          <li key={at} class={at === current ? "current" : ""}>
            <label>
              <input
                type="checkbox"
                checked={isTaken(at)}
                disabled={!canChoose}
                onChange={() => onToggle(at)}
              />
              <span class="sr">take hunk {at + 1}, </span>
              {linesWords(hunk)}
            </label>
            <button type="button" onClick={() => onShow(at)} aria-label={`show hunk ${at + 1}`}>
              show
            </button>
          </li>
        ))}
      </ol>
      {hunks.length > kMost && <p>Only the first {kMost} can be chosen one by one.</p>}
    </fieldset>
  );
}
