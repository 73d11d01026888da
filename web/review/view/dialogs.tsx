/** Confirmation dialogs, and the list of keys. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

type Properties = {
  title: string;
  /** Label of the button that confirms; undefined: no such button. */
  action?: string;
  isDanger?: boolean;
  children: ComponentChildren;
  onDo?(): void;
  onClose(): void;
};

export function Dialog({ title, action, isDanger = false, children, onDo, onClose }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          {action === undefined ? "Close" : "Cancel"}
        </button>
        {action !== undefined && (
          <button
            type="button"
            class={isDanger ? "danger" : "primary"}
            onClick={() => {
              dialog.current?.close();
              onDo?.();
            }}
          >
            {action}
          </button>
        )}
      </div>
    </dialog>
  );
}

const kKeys = [
  ["j, ↓", "the next file"],
  ["k, ↑", "the file before"],
  ["space, x", "choose it, or not"],
  ["a", "choose all, or none"],
  ["v", "viewed, or not"],
  ["n, p", "the next hunk, the one before"],
  ["t", "take the hunk, or not"],
  ["m", "comment: arrows choose the line, Enter writes"],
  ["Ctrl+Enter", "send the comment; Escape: do not"],
  ["u", "unified, or side by side"],
  ["c", "commit what is chosen"],
  ["?", "this help"],
] as const;

export function KeysDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {kKeys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
