/** The requests that the page can make, by method and path. */

import type { IncomingMessage } from "node:http";
import * as v from "valibot";

import type { ReviewBranches } from "./branches.js";
import { kMostLineText, kMostText } from "./comments.js";
import { ReviewFailure } from "./failure.js";
import type { Review } from "./review.js";

/** An answer with status 200. */
export type Sent = { type: string; body: string | Uint8Array; isUntrusted?: true };

/** Facts that stay the same while the page is open. */
export type Facts = { id: string; workspace: string; backend: string; isLive: boolean };

type Route = (review: Review, request: IncomingMessage, query: URLSearchParams) => Promise<Sent>;

/** The path of requests about comments, which leave the transaction as it is. */
export const kComments = "api/comments";

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
const take = v.strictObject({
  branch: v.string(),
  revision: v.pipe(v.number(), v.integer()),
  paths: v.optional(v.pipe(v.array(v.string()), v.minLength(1))),
  onConflict: v.optional(v.picklist(["fail", "theirs"])),
});
const nothing = v.strictObject({});

const kMostPath = 4096; // PATH_MAX of Linux
const text = v.pipe(v.string(), v.maxLength(kMostText));
const comment = v.strictObject({
  path: v.pipe(v.string(), v.maxLength(kMostPath)),
  side: v.picklist(["before", "after"]),
  line: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  lineText: v.optional(v.pipe(v.string(), v.maxLength(kMostLineText))),
  text,
});
const patch = v.strictObject({
  id: v.string(),
  text: v.optional(text),
  isResolved: v.optional(v.boolean()),
});
const named = v.strictObject({ id: v.string() });

/**
 * Returns handlers by "METHOD path". Those that read take a branch's id as `branch`.
 * @param reported called after each request that has changed the transaction
 */
export function routesOf(
  facts: Facts,
  branches: ReviewBranches,
  reported: () => void,
): ReadonlyMap<string, Route> {
  /** The review of the branch that a request names; of the transaction where it names none. */
  const namedBy = (query: URLSearchParams, review: Review) => {
    const branch = query.get("branch");
    return branch === null ? review : branches.review(branch);
  };
  return new Map<string, Route>([
    [
      "GET api/transaction",
      async ({ state, canUndo, revision }) =>
        json({ ...facts, state, canUndo, revision, branches: branches.size }),
    ],
    [
      "GET api/changes",
      async (review, _, query) => {
        const asked = namedBy(query, review);
        const changes = await asked.changes();
        return json({ revision: asked.revision, changes });
      },
    ],
    [
      "GET api/branches",
      async () => json({ branches: branches.list(), canTakeBack: branches.canTakeBack }),
    ],
    [
      "GET api/lines",
      async (_, __, query) => json({ lines: await branches.lines(query.get("branch") ?? "") }),
    ],
    [
      "POST api/take",
      async (_, request) => {
        const taken = await branches.take(await bodyOf(request, take));
        reported();
        return json({ taken });
      },
    ],
    [
      "POST api/take-back",
      async (_, request) => {
        await bodyOf(request, nothing);
        await branches.takeBack();
        reported();
        return json({});
      },
    ],
    ["GET api/runs", async (review) => json({ runs: await review.runs() })],
    [
      "GET api/file",
      async (review, request, query) => {
        const path = query.get("path") ?? "";
        const side = query.get("side");
        if (side !== "before" && side !== "after") {
          throw new ReviewFailure(
            400,
            "ERR_REVIEW_SIDE",
            'Expected `side` to be "before" or "after"',
          );
        }
        const body = await namedBy(query, review).file(path, side);
        // A browser says what it wants it for: as a document, a drawing would be a page.
        const isForImage = (request.headers["sec-fetch-dest"] ?? "image") === "image";
        const type = mediaTypeOf(path, isForImage && query.get("as") === "picture");
        return { type, body, isUntrusted: true };
      },
    ],
    [`GET ${kComments}`, async (review) => json({ comments: await review.comments() })],
    [
      `POST ${kComments}`,
      async (review, request) => json(await review.comment(await bodyOf(request, comment))),
    ],
    [
      `PATCH ${kComments}`,
      async (review, request) => {
        const { id, ...changed } = await bodyOf(request, patch);
        return json(review.changeComment(id, changed));
      },
    ],
    [
      `DELETE ${kComments}`,
      async (review, request) => {
        review.removeComment((await bodyOf(request, named)).id);
        return json({});
      },
    ],
    [
      "POST api/commit",
      async (review, request) => {
        const { paths, left } = await review.commit(await bodyOf(request, commit));
        reported();
        return json({ committed: paths, left });
      },
    ],
    [
      "POST api/undo",
      async (review, request) => {
        await bodyOf(request, nothing);
        await review.undo();
        reported();
        return json({});
      },
    ],
    [
      "POST api/discard",
      async (review, request) => {
        await bodyOf(request, nothing);
        await review.discard();
        reported();
        return json({});
      },
    ],
  ]);
}

/** Reads and validates the JSON of a request. */

const kMostBytes = 16 * 1024 ** 2;

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += (part as Buffer).length;
    if (bytes > kMostBytes)
      throw new ReviewFailure(413, "ERR_REVIEW_BODY", "the request is too large");
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** @throws (rejects) ReviewFailure that names the error */
async function bodyOf<Schema extends v.GenericSchema>(
  request: IncomingMessage,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json\b/.test(type)) {
    throw new ReviewFailure(415, "ERR_REVIEW_BODY", "Expected a content type of application/json");
  }
  let json: unknown;
  try {
    json = JSON.parse(await textOf(request));
  } catch (error) {
    if (error instanceof ReviewFailure) throw error;
    throw new ReviewFailure(400, "ERR_REVIEW_BODY", "Expected JSON");
  }
  const parsed = v.safeParse(schema, json);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const place = issue && v.getDotPath(issue);
  const message = `${place ? `${place}: ` : ""}${issue?.message ?? "the request is wrong"}`;
  throw new ReviewFailure(400, "ERR_REVIEW_BODY", message);
}

/** Media types of files sent to the page: pictures, or plain text that a browser does not execute. Pure. */

const kPictures: Readonly<Record<string, string>> = {
  avif: "image/avif",
  bmp: "image/bmp",
  gif: "image/gif",
  ico: "image/x-icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  png: "image/png",
  webp: "image/webp",
};

/** Returns a file's media type: never HTML, and SVG only for an <img>, where its scripts don't run. */
function mediaTypeOf(path: string, asPicture = false): string {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  if (asPicture && ending === "svg") return "image/svg+xml";
  return kPictures[ending] ?? "text/plain; charset=utf-8";
}
