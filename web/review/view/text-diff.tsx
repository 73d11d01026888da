/** Two texts, side by side or unified. The editor keeps only the visible part in the page. */

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension, Text } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

import { hunksOf } from "../hunk-ranges.js";
import { languageFor } from "../languages.js";
import { changesBetween } from "../line-changes.js";
import type { Hunk } from "../model.js";
import { shown } from "../words.js";

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
    lineNumbers(),
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

export type DiffHandle = { hunks: readonly Hunk[]; show(at: number): void };

type Properties = {
  path: string;
  before: string;
  after: string;
  isUnified: boolean;
  /** Called with the hunks; with undefined when they no longer apply. */
  onReady(handle: DiffHandle | undefined): void;
};

export function TextDiff({ path, before, after, isUnified, onReady }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const language = new Compartment();
    const views: EditorView[] = [];
    const old = Text.of(before.split("\n"));
    let last: EditorView;
    let destroy: () => void;
    if (isUnified) {
      last = new EditorView({
        parent,
        doc: after,
        extensions: [
          ...extensionsOf(`${shown(path)}, before and after`, language),
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
        a: { doc: before, extensions: extensionsOf(`${shown(path)}, before`, language) },
        b: { doc: after, extensions: extensionsOf(`${shown(path)}, after`, language) },
        gutter: true,
        collapseUnchanged: kCollapse,
        diffConfig: { override: changesBetween },
      });
      views.push(merge.a, merge.b);
      last = merge.b;
      destroy = () => merge.destroy();
    }
    let isGone = false;
    const hunks = hunksOf(before, after, changesBetween(before, after));
    const { doc } = last.state;
    onReady({
      hunks,
      show: (at) => {
        const line = Math.min((hunks[at]?.fromAfter ?? 0) + 1, doc.lines);
        const { from } = doc.line(line);
        last.dispatch({ effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 80 }) });
      },
    });
    languageFor(path)
      .then((extension) => {
        if (isGone) return;
        for (const view of views) view.dispatch({ effects: language.reconfigure(extension) });
      })
      .catch(() => {}); // shown without colours
    return () => {
      isGone = true;
      destroy();
      onReady(undefined);
    };
  }, [path, before, after, isUnified]);
  return <div class="diff" ref={place} />;
}
