import { useEffect, useState } from "preact/hooks";

/** True while a media query matches. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const look = () => setMatches(list.matches);
    list.addEventListener("change", look);
    return () => list.removeEventListener("change", look);
  }, [query]);
  return matches;
}
