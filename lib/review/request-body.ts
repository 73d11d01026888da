/** The JSON of a request, in full and checked. */

import type { IncomingMessage } from "node:http";

import * as v from "valibot";

import { ReviewFailure } from "./failure.js";

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

/** @throws (rejects) ReviewFailure that names what is wrong. */
export async function bodyOf<Schema extends v.GenericSchema>(
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
