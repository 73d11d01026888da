import { useEffect, useRef } from "preact/hooks";

/** Handles the page's keys, except while a person types, a dialog is open, or a modifier is held. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const now = useRef(actions);
  now.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        document.querySelector("dialog[open]")
      ) {
        return;
      }
      const isPressed =
        /^(Enter| )$/.test(event.key) && target.closest("button, input, summary, a");
      if (isPressed || target.closest("input:not([type=checkbox]), textarea, select")) return;
      const isArrow = event.key.startsWith("Arrow");
      if (isArrow && target.closest(".cm-editor")) return; // the editor scrolls
      const action = now.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
