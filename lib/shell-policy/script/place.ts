/** Where in a script a command stands, as far as it matters to what the command means. */

import type { Upstream } from "./upstream.js";

export type Place = {
  /** The position to report where the nodes' own are those of another text. */
  readonly fixed: { readonly position: number | undefined } | undefined;
  /** Commands before this one in its pipeline. */
  readonly upstream: Upstream | undefined;
  /** After the keyword `time`. */
  readonly timed: boolean;
  /** In a pipeline of several commands, or in the background. */
  readonly concurrent: boolean;
  /** Functions whose body this is in. */
  readonly functions: readonly string[];
};

export const kTopPlace: Place = {
  fixed: undefined,
  upstream: undefined,
  timed: false,
  concurrent: false,
  functions: [],
};

/** For what begins a list of commands of its own. */
export function apart(place: Place): Place {
  if (place.upstream === undefined && !place.timed && !place.concurrent) return place;
  return { ...place, upstream: undefined, timed: false, concurrent: false };
}

/** The position to report for a node at `own`. */
export function positionIn({ fixed }: Place, own: number): number | undefined {
  return fixed ? fixed.position : own;
}
