/** Which changes a person has marked as viewed, each in a certain version; this tab of the browser keeps them. */

import { useEffect, useState } from "preact/hooks";

import type { ReviewChange } from "./model.js";

type Viewed = Readonly<Record<string, string>>;

function kept(key: string): Viewed {
  try {
    return Object.assign(Object.create(null), JSON.parse(sessionStorage.getItem(key) ?? "{}"));
  } catch {
    return {}; // the browser keeps nothing
  }
}

/** @param id the transaction's, once it is known */
export function useViewed(id: string | undefined) {
  const [versions, setVersions] = useState<Viewed>({});
  const key = `viewed ${id}`;
  useEffect(() => setVersions(kept(key)), [key]);
  return {
    versions,
    has: ({ path, version }: ReviewChange) =>
      Object.hasOwn(versions, path) && versions[path] === version,
    toggle: ({ path, version }: ReviewChange) =>
      setVersions((now) => {
        const next: Record<string, string> = Object.assign(Object.create(null), now);
        if (next[path] === version) delete next[path];
        else next[path] = version;
        try {
          sessionStorage.setItem(key, JSON.stringify(next));
        } catch {} // it lasts as long as the page
        return next;
      }),
  };
}
