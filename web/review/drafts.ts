/** What a person is writing: it outlives its form, which goes when its change is scrolled away. */

import { useEffect, useState } from "preact/hooks";

import type { Place } from "./api.js";

/** A comment that is not sent yet, or the new text of one that exists. */
export type Draft = {
  key: string;
  place: Place;
  /** The comment that is edited; undefined: a new one. */
  id?: string;
  text: string;
  /** True until its form had the focus. */
  isNew: boolean;
};

const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Returns a text that is the same for the same place. */
export const placeKey = ({ path, side, line, lineText }: Place) =>
  JSON.stringify([path, side, line ?? 0, lineText ?? ""]);

/** Begins a comment, or goes on with the one that was begun there. */
export function write(place: Place): void {
  const key = placeKey(place);
  const draft = drafts.get(key) ?? { key, place, text: "", isNew: true };
  drafts.set(key, { ...draft, isNew: true });
  tell();
}

/** Begins to edit a comment. */
export function edit(id: string, place: Place, text: string): void {
  drafts.set(id, { key: id, id, place, text, isNew: true });
  tell();
}

/** Keeps what was typed. */
export function type(draft: Draft, text: string): void {
  draft.text = text;
}

export function drop({ key }: Draft): void {
  drafts.delete(key);
  tell();
}

const of = (isWanted: (path: string) => boolean) =>
  [...drafts.values()].filter(({ place }) => isWanted(place.path));

/** Returns the drafts of the wanted paths. */
export function useDrafts(isWanted: (path: string) => boolean): readonly Draft[] {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = () => again((now) => now + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return of(isWanted);
}
