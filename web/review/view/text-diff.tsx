/** Two texts, side by side or unified. The editor keeps only the visible part in the page. */

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Change, MergeView, unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension, RangeSetBuilder, Text } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  highlightSpecialChars,
  keymap,
  ViewPlugin,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { ComponentChildren } from "preact";
import { createPortal } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";

import type { Place, Side } from "../api.js";
import { hunksOf } from "../hunk-ranges.js";
import { languageFor } from "../languages.js";
import { changesBetween } from "../line-changes.js";
import type { Hunk } from "../model.js";
import { shown } from "../words.js";
import { commentable, type Line, showBelow } from "./line-comments.js";
import { whenIdle } from "./stack.js";

/** Characters that a screen would interpret or hide: controls, changes of direction, characters without width. */
const kSpecial =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]/g;
const kCollapse = { margin: 3, minSize: 6 };

const light = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "#8a0f5f" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "#0a3069" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "#05468f" },
  { tag: [tags.comment], color: "#46525d", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: "#0b5427" },
  {
    tag: [tags.propertyName, tags.attributeName, tags.definition(tags.variableName)],
    color: "#54259a",
  },
  { tag: [tags.heading, tags.strong], fontWeight: "bold" },
]);
const dark = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "#ff9bce" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "#a5d6ff" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "#79c0ff" },
  { tag: [tags.comment], color: "#a3b1bf", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: "#7ee787" },
  {
    tag: [tags.propertyName, tags.attributeName, tags.definition(tags.variableName)],
    color: "#d2a8ff",
  },
  { tag: [tags.heading, tags.strong], fontWeight: "bold" },
]);

function code(): string {
  return "·";
}

/** @param label names the side, for screen readers */
function extensionsOf(label: string, language: Compartment): Extension[] {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
  return [
    EditorState.readOnly.of(true),
    EditorState.lineSeparator.of("\n"),
    EditorView.editable.of(false),
    EditorView.cspNonce.of(nonce),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-readonly": "true",
      tabindex: "0",
    }),
    EditorView.theme({}, { dark: isDark }),
    keymap.of([]),
    highlightSpecialChars({
      specialChars: kSpecial,
      addSpecialChars: null,
      render: (at, description) => {
        const box = document.createElement("span");
        box.className = "special";
        box.title = description ?? "";
        box.setAttribute("aria-label", description ?? code());
        box.textContent = `U+${at.toString(16).toUpperCase().padStart(4, "0")}`;
        return box;
      },
    }),
    syntaxHighlighting(isDark ? dark : light),
    language.of([]),
  ];
}

const whole = Decoration.line({ class: "whole" });

/** Tells lines that are changed as a whole, in which no words are marked, from lines with changed words. */
function wholeLines(doc: Text, changes: readonly Change[], side: "A" | "B"): Extension {
  const lines = new RangeSetBuilder<Decoration>();
  for (const { fromA, toA, fromB, toB } of changes) {
    const [from, to] = side === "A" ? [fromA, toA] : [fromB, toB];
    for (let at = from; at < to; ) {
      const line = doc.lineAt(at);
      if (line.from >= from && line.to <= to) lines.add(line.from, line.from, whole);
      at = line.to + 1;
    }
  }
  return EditorView.decorations.of(lines.finish());
}

/** The same for the removed lines of a unified view, which are no lines of the editor. */
const wholeRemovedLines = ViewPlugin.define((view) => {
  const mark = () =>
    view.requestMeasure({
      key: "whole",
      read: () => [...view.dom.querySelectorAll(".cm-deletedLine:not(.seen) > del")],
      write: (lines) => {
        for (const { parentElement: line, childNodes } of lines) {
          const isWhole = [...childNodes].every(
            (part) => part instanceof Element && part.matches(".cm-deletedText, br"),
          );
          line?.classList.add("seen", ...(isWhole ? ["whole"] : []));
        }
      },
    });
  mark();
  return { update: mark };
});

export type DiffHandle = {
  hunks: readonly Hunk[];
  /** Lines that were added and removed. */
  added: number;
  removed: number;
  show(at: number): void;
  /** Gives the editor the focus, at the first line of a hunk. */
  focus(at: number): void;
};

/** What is shown below a line. */
export type LineNote = Line & { key: string; content: ComponentChildren };

type Properties = {
  path: string;
  before: string;
  after: string;
  isUnified: boolean;
  /** Sides that have a file: lines of these can be commented. */
  sides: readonly Side[];
  notes: readonly LineNote[];
  /** Called with the hunks; with undefined when they no longer apply. */
  onReady(handle: DiffHandle | undefined): void;
  onWrite(place: Place): void;
};

/** Characters of a line that are kept with a comment: as many as the server takes. */
const kMostLineText = 1000;

type Built = { views: readonly EditorView[]; destroy(): void };

/** Makes the editor. */
function build(parent: Element, properties: Properties): Built {
  const { path, before, after, isUnified, onReady, onWrite } = properties;
  const sides = new Set(properties.sides);
  const write = ({ side, line }: Line) => {
    const text = side === "before" ? old : now;
    const lineText = text.line(line).text.slice(0, kMostLineText);
    onWrite({ path, side, line, lineText });
  };
  const ofAfter = commentable({ own: "after", sides, onWrite: write });
  const language = new Compartment();
  const views: EditorView[] = [];
  const old = Text.of(before.split("\n"));
  const now = Text.of(after.split("\n"));
  const changes = changesBetween(before, after);
  let last: EditorView;
  let destroy: () => void;
  if (isUnified) {
    last = new EditorView({
      parent,
      doc: now,
      extensions: [
        ...extensionsOf(`${shown(path)}, before and after`, language),
        ofAfter.extension,
        wholeLines(now, changes, "B"),
        wholeRemovedLines,
        unifiedMergeView({
          original: old,
          mergeControls: false,
          gutter: true,
          collapseUnchanged: kCollapse,
          diffConfig: { override: changesBetween },
        }),
      ],
    });
    views.push(last);
    destroy = () => last.destroy();
  } else {
    const merge = new MergeView({
      parent,
      a: {
        doc: old,
        extensions: [
          extensionsOf(`${shown(path)}, before`, language),
          commentable({ own: "before", sides, onWrite: write }).extension,
          wholeLines(old, changes, "A"),
        ],
      },
      b: {
        doc: now,
        extensions: [
          extensionsOf(`${shown(path)}, after`, language),
          ofAfter.extension,
          wholeLines(now, changes, "B"),
        ],
      },
      gutter: true,
      collapseUnchanged: kCollapse,
      diffConfig: { override: changesBetween },
    });
    views.push(merge.a, merge.b);
    last = merge.b;
    destroy = () => merge.destroy();
  }
  let isGone = false;
  const hunks = hunksOf(before, after, changes);
  const sum = (count: (hunk: Hunk) => number) =>
    hunks.reduce((lines, hunk) => lines + count(hunk), 0);
  const { doc } = last.state;
  onReady({
    hunks,
    added: after === "" ? 0 : sum(({ fromAfter, toAfter }) => toAfter - fromAfter),
    removed: before === "" ? 0 : sum(({ fromBefore, toBefore }) => toBefore - fromBefore),
    show: (at) => {
      const line = Math.min((hunks[at]?.fromAfter ?? 0) + 1, doc.lines);
      const { from } = doc.line(line);
      last.dispatch({ effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 80 }) });
    },
    focus: (at) => ofAfter.focus(last, (hunks[at]?.fromAfter ?? 0) + 1),
  });
  languageFor(path)
    .then((extension) => {
      if (isGone) return;
      for (const view of views) view.dispatch({ effects: language.reconfigure(extension) });
    })
    .catch(() => {}); // shown without colours
  return {
    views,
    destroy: () => {
      isGone = true;
      destroy();
      onReady(undefined);
    },
  };
}

export function TextDiff(properties: Properties) {
  const { path, before, after, isUnified, notes } = properties;
  const place = useRef<HTMLDivElement>(null);
  const built = useRef<Built | undefined>(undefined);
  /** Where the notes are drawn, by their keys: an editor takes these elements in and out as it scrolls. */
  const elements = useRef(new Map<string, HTMLElement>());
  const latest = useRef(properties);
  latest.current = properties;
  const elementOf = (key: string) => {
    const element = elements.current.get(key) ?? document.createElement("div");
    element.className = "note";
    elements.current.set(key, element);
    return element;
  };
  const showNotes = () => {
    const all = latest.current.notes.map(({ side, line, key }) => ({
      ...{ side, line },
      element: elementOf(key),
    }));
    if (built.current) showBelow(built.current.views, all);
  };
  useEffect(() => {
    const takeBack = whenIdle(() => {
      if (!place.current) return;
      const onWrite = (line: Place) => latest.current.onWrite(line);
      built.current = build(place.current, { ...latest.current, onWrite });
      if (latest.current.notes.length > 0) showNotes();
    });
    return () => {
      takeBack();
      built.current?.destroy();
      built.current = undefined;
    };
  }, [path, before, after, isUnified]);
  const keys = notes.map(({ key }) => key).join(" ");
  useEffect(() => {
    for (const key of elements.current.keys()) {
      if (!latest.current.notes.some((note) => note.key === key)) elements.current.delete(key);
    }
    showNotes();
    const resized = new ResizeObserver(() => {
      for (const view of built.current?.views ?? []) view.requestMeasure();
    });
    for (const element of elements.current.values()) resized.observe(element);
    return () => resized.disconnect();
  }, [keys]);
  return (
    <>
      <div class="diff" ref={place} />
      {notes.map(({ key, content }) => createPortal(content, elementOf(key)))}
    </>
  );
}
