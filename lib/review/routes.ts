/** What the page may ask for, by method and path. */

import type { IncomingMessage } from "node:http";

import * as v from "valibot";

import { ReviewFailure } from "./failure.js";
import { mediaTypeOf } from "./media-type.js";
import { bodyOf } from "./request-body.js";
import type { Review } from "./review.js";

/** An answer of 200. */
export type Sent = { type: string; body: string | Uint8Array; isUntrusted?: true };

/** What does not change while the page is open. */
export type Facts = { id: string; workspace: string; backend: string; isLive: boolean };

type Route = (review: Review, request: IncomingMessage, query: URLSearchParams) => Promise<Sent>;

const kJson = "application/json; charset=utf-8";
const json = (value: unknown): Sent => ({ type: kJson, body: JSON.stringify(value) });

const line = v.pipe(v.number(), v.integer(), v.minValue(0));
const hunk = v.strictObject({ fromBefore: line, toBefore: line, fromAfter: line, toAfter: line });
const chosen = v.strictObject({
  path: v.string(),
  version: v.string(),
  hunks: v.optional(v.pipe(v.array(hunk), v.minLength(1))),
});
const commit = v.strictObject({
  files: v.pipe(v.array(chosen), v.minLength(1)),
  allowProtected: v.optional(v.array(v.string())),
});
const nothing = v.strictObject({});

/** By "METHOD path". @param told is called after what has changed the transaction. */
export function routesOf(facts: Facts, told: () => void): ReadonlyMap<string, Route> {
  return new Map<string, Route>([
    [
      "GET api/transaction",
      async ({ state, canUndo, revision }) => json({ ...facts, state, canUndo, revision }),
    ],
    [
      "GET api/changes",
      async (review) => {
        const changes = await review.changes();
        return json({ revision: review.revision, changes });
      },
    ],
    ["GET api/runs", async (review) => json({ runs: await review.runs() })],
    [
      "GET api/file",
      async (review, _, query) => {
        const path = query.get("path") ?? "";
        const side = query.get("side");
        if (side !== "before" && side !== "after") {
          throw new ReviewFailure(
            400,
            "ERR_REVIEW_SIDE",
            'Expected `side` to be "before" or "after"',
          );
        }
        const body = await review.file(path, side);
        const type = mediaTypeOf(path, query.get("as") === "picture");
        return { type, body, isUntrusted: true };
      },
    ],
    [
      "POST api/commit",
      async (review, request) => {
        const { paths, left } = await review.commit(await bodyOf(request, commit));
        told();
        return json({ committed: paths, left });
      },
    ],
    [
      "POST api/undo",
      async (review, request) => {
        await bodyOf(request, nothing);
        await review.undo();
        told();
        return json({});
      },
    ],
    [
      "POST api/discard",
      async (review, request) => {
        await bodyOf(request, nothing);
        await review.discard();
        told();
        return json({});
      },
    ],
  ]);
}
