/** Comments in an editor: the "+" beside a line, by mouse, touch and keys, and what is shown below a line. */

import { type Chunk, getChunks, getOriginalDoc, uncollapseUnchanged } from "@codemirror/merge";
import { type Extension, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  lineNumbers,
  ViewPlugin,
  WidgetType,
} from "@codemirror/view";

import type { Side } from "../api.js";

/** A line of one side, from 1. */
export type Line = { side: Side; line: number };

/** What is shown below a line. */
export type Below = Line & { element: HTMLElement };

class Place extends WidgetType {
  readonly element: HTMLElement;

  constructor(element: HTMLElement) {
    super();
    this.element = element;
  }
  override eq(other: Place): boolean {
    return other.element === this.element;
  }
  override toDOM(): HTMLElement {
    return this.element;
  }
  override get estimatedHeight(): number {
    return this.element.offsetHeight || kGuessedPixels;
  }
  override ignoreEvent(): boolean {
    return true;
  }
}
const kGuessedPixels = 110;

const setPlaces = StateEffect.define<DecorationSet>();

const places = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (now, { effects }) => {
    for (const effect of effects) if (effect.is(setPlaces)) return effect.value;
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Returns where a position of one document is in the other, and the chunk that it is in, if any. */
function mapped(chunks: readonly Chunk[], pos: number, isBefore: boolean) {
  let own = 0;
  let other = 0;
  for (const chunk of chunks) {
    const [from, to] = isBefore ? [chunk.fromA, chunk.toA] : [chunk.fromB, chunk.toB];
    if (pos < from) break;
    if (pos < to) return { pos: isBefore ? chunk.fromB : chunk.fromA, chunk };
    own = to;
    other = isBefore ? chunk.toB : chunk.toA;
  }
  return { pos: other + (pos - own), chunk: undefined };
}

/** Opens the collapsed lines at a position. */
function uncollapse(view: EditorView, pos: number): void {
  const starts: number[] = [];
  for (const set of view.state.facet(EditorView.decorations)) {
    if (typeof set === "function") continue;
    set.between(pos, pos, (from, to, { spec }) => {
      if (spec.block && to > from) starts.push(from);
    });
  }
  if (starts.length > 0) {
    view.dispatch({ effects: starts.map((from) => uncollapseUnchanged.of(from)) });
  }
}

const chunksOf = (view: EditorView): readonly Chunk[] => getChunks(view.state)?.chunks ?? [];

/** Shows elements below lines: each in the editor of its side, or all in the one that has both. */
export function showBelow(views: readonly EditorView[], all: readonly Below[]): void {
  const isUnified = views.length === 1;
  for (const view of views) {
    const own: Side = view === views.at(-1) ? "after" : "before";
    const { doc } = view.state;
    const ranges = all.flatMap(({ side, line, element }) => {
      const widget = new Place(element);
      if (side === own) {
        const { to } = doc.line(Math.min(line, doc.lines));
        uncollapse(view, to);
        return [Decoration.widget({ widget, block: true, side: 1 }).range(to)];
      }
      const old = isUnified
        ? getOriginalDoc(view.state)
        : views.find((each) => each !== view)?.state.doc;
      if (old === undefined || line > old.lines) return [];
      const { pos, chunk } = mapped(chunksOf(view), old.line(line).from, side === "before");
      const at = Math.min(pos, doc.length);
      if (chunk === undefined) uncollapse(view, doc.lineAt(at).to);
      if (!isUnified) return [];
      // Below the removed lines, which are above the line that follows them.
      if (chunk) return [Decoration.widget({ widget, block: true, side: 0 }).range(at)];
      return [Decoration.widget({ widget, block: true, side: 1 }).range(doc.lineAt(at).to)];
    });
    view.dispatch({ effects: setPlaces.of(Decoration.set(ranges, true)) });
  }
}

const kRemoved = ".cm-deletedChunk .cm-deletedLine";
const kLines = `.cm-line, ${kRemoved}`;

/** Returns the line that an element of the editor shows. */
function lineOf(view: EditorView, element: Element, own: Side): Line | undefined {
  const box = element.closest(".cm-deletedChunk");
  if (box === null) {
    return { side: own, line: view.state.doc.lineAt(view.posAtDOM(element)).number };
  }
  const at = view.posAtDOM(box);
  const chunk = chunksOf(view).find(({ fromB }) => fromB === at);
  const index = [...box.querySelectorAll(".cm-deletedLine")].indexOf(element);
  if (chunk === undefined || index < 0) return undefined;
  return { side: "before", line: getOriginalDoc(view.state).lineAt(chunk.fromA).number + index };
}

type Options = {
  /** The side of the editor's own lines. */
  own: Side;
  /** Sides that have a file. */
  sides: ReadonlySet<Side>;
  onWrite(line: Line): void;
};

/** The one "+" of an editor: beside the line below the pointer, or the one that the keys have chosen. */
class Plus {
  readonly #view: EditorView;
  readonly #options: Options;
  readonly #button = document.createElement("button");
  #element: Element | undefined;

  constructor(view: EditorView, options: Options) {
    this.#view = view;
    this.#options = options;
    const button = this.#button;
    button.type = "button";
    button.className = "plus";
    button.textContent = "+";
    button.hidden = true;
    button.addEventListener("click", () => this.write());
    button.addEventListener("keydown", (event) => this.press(event));
    view.dom.append(button);
    view.dom.addEventListener("mousemove", this.#onMove);
    view.dom.addEventListener("mouseleave", this.#onLeave);
    view.dom.addEventListener("focusin", this.#onFocus);
    view.dom.addEventListener("focusout", this.#onLeave);
  }

  destroy(): void {
    this.#button.remove();
    const { dom } = this.#view;
    dom.removeEventListener("mousemove", this.#onMove);
    dom.removeEventListener("mouseleave", this.#onLeave);
    dom.removeEventListener("focusin", this.#onFocus);
    dom.removeEventListener("focusout", this.#onLeave);
  }

  update(): void {
    if (!this.#button.hidden) this.#view.requestMeasure({ key: this, read: () => this.#lay() });
  }

  /** Opens a comment on the line of the "+". */
  write(): void {
    const line = this.#element && this.#lineOf(this.#element);
    if (line) this.#options.onWrite(line);
  }

  /** Opens a comment on the line at a height of the screen; false if there is none. */
  writeAt(y: number): boolean {
    const element = this.#at(y);
    if (element === undefined) return false;
    this.#choose(element);
    this.write();
    return true;
  }

  /** Chooses a line, and gives the editor the focus. */
  focus(line: number): void {
    const { doc } = this.#view.state;
    const { node } = this.#view.domAtPos(doc.line(Math.min(Math.max(line, 1), doc.lines)).from);
    const element = (node instanceof Element ? node : node.parentElement)?.closest(".cm-line");
    if (element) this.#choose(element);
    this.#view.contentDOM.focus({ preventScroll: true });
  }

  press(event: KeyboardEvent): boolean {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return false;
    const isOwn = target === this.#view.contentDOM || target === this.#button;
    if (!isOwn) return false;
    if (key === "Enter" && target !== this.#button) this.write();
    else if (key === "ArrowDown") this.#step(1);
    else if (key === "ArrowUp") this.#step(-1);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #lineOf(element: Element): Line | undefined {
    const line = element.isConnected ? lineOf(this.#view, element, this.#options.own) : undefined;
    return line && this.#options.sides.has(line.side) ? line : undefined;
  }

  #lines(): Element[] {
    const all = [...this.#view.contentDOM.querySelectorAll(kLines)];
    return all.filter((element) => this.#lineOf(element) !== undefined);
  }

  #step(by: number): void {
    const lines = this.#lines();
    const at = this.#element ? lines.indexOf(this.#element) : -1;
    const next = lines[at < 0 ? 0 : Math.min(Math.max(at + by, 0), lines.length - 1)];
    if (next === undefined) return;
    this.#choose(next);
    next.scrollIntoView({ block: "nearest" });
    const label = this.#button.getAttribute("aria-label") ?? "";
    const text = `${label}: ${next.textContent}`;
    this.#view.dispatch({ effects: EditorView.announce.of(text) });
  }

  #choose(element: Element): void {
    const line = this.#lineOf(element);
    if (line === undefined) return;
    this.#element = element;
    const words = line.side === "before" ? `line ${line.line} before` : `line ${line.line}`;
    this.#button.setAttribute("aria-label", `comment on ${words}`);
    this.#button.hidden = false;
    this.#lay();
  }

  #lay(): void {
    const { dom } = this.#view;
    if (this.#element?.isConnected) {
      const top = this.#element.getBoundingClientRect().top - dom.getBoundingClientRect().top;
      this.#button.style.top = `${top}px`;
    } else this.#hide();
  }

  #hide(): void {
    this.#button.hidden = true;
  }

  /** Returns the line at a height of the screen. */
  #at(y: number): Element | undefined {
    const { left, right } = this.#view.contentDOM.getBoundingClientRect();
    const found = document.elementsFromPoint((left + right) / 2, y);
    const element = found.find((each) => this.#view.contentDOM.contains(each))?.closest(kLines);
    return element && this.#view.contentDOM.contains(element) ? element : undefined;
  }

  readonly #onMove = ({ clientY, target }: MouseEvent) => {
    if (target === this.#button) return;
    const element = this.#at(clientY);
    if (element && this.#lineOf(element)) this.#choose(element);
  };

  readonly #onLeave = (event: MouseEvent | FocusEvent) => {
    const { relatedTarget } = event;
    const hasFocus = this.#view.dom.contains(document.activeElement) && event.type !== "focusout";
    if (hasFocus || (relatedTarget instanceof Node && this.#view.dom.contains(relatedTarget)))
      return;
    this.#hide();
  };

  readonly #onFocus = ({ target }: FocusEvent) => {
    if (target !== this.#view.contentDOM) return;
    const lines = this.#lines();
    const isThere = this.#element !== undefined && lines.includes(this.#element);
    const changed = lines.find((line) => line.matches(`.cm-changedLine, ${kRemoved}`));
    const first = isThere ? this.#element : (changed ?? lines[0]);
    if (first) this.#choose(first);
  };
}

/** The extension of one editor, with its line numbers; `focus` chooses one of its lines. */
export function commentable(options: Options): {
  extension: Extension;
  focus(view: EditorView, line: number): void;
} {
  const plugin = ViewPlugin.define((view) => new Plus(view, options));
  const extension = [
    places,
    plugin,
    lineNumbers({
      domEventHandlers: {
        click: (view, _, event) =>
          view.plugin(plugin)?.writeAt((event as MouseEvent).clientY) ?? false,
      },
    }),
    EditorView.domEventHandlers({
      keydown: (event, view) => view.plugin(plugin)?.press(event) ?? false,
    }),
  ];
  return { extension, focus: (view, line) => view.plugin(plugin)?.focus(line) };
}
