/** Calls of the page's server. Addresses are relative, since the page's own address has the token. */

import { type Facts, type Hunk, Refusal, type ReviewChange, type ReviewRun } from "./model.js";

type Failure = { error: { code: string; message: string; fix?: string; paths?: string[] } };

async function answered<Value>(response: Response): Promise<Value> {
  if (response.ok) return (await response.json()) as Value;
  const { error } = (await response.json().catch(() => ({
    error: { code: "ERR_REVIEW", message: `the server answered ${response.status}` },
  }))) as Failure;
  const message = error.fix === undefined ? error.message : `${error.message}: ${error.fix}`;
  throw new Refusal(error.code, message, error.paths ?? []);
}

const get = async <Value>(path: string) => answered<Value>(await fetch(`api/${path}`));

const post = async <Value>(path: string, body: object) =>
  answered<Value>(
    await fetch(`api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );

export const facts = () => get<Facts>("transaction");
export const changes = () => get<{ revision: number; changes: ReviewChange[] }>("changes");
export const runs = async () => (await get<{ runs: ReviewRun[] }>("runs")).runs;

export type Side = "before" | "after";

/** Returns the address of one side; `version` keeps the browser from showing a cached other version. */
export function fileAddress(
  { path, version }: ReviewChange,
  side: Side,
  asPicture = false,
): string {
  const query = new URLSearchParams({ path, side, version, ...(asPicture && { as: "picture" }) });
  return `api/file?${query}`;
}

/** Returns the bytes of one side; undefined if it has no file. */
export async function file(change: ReviewChange, side: Side): Promise<Uint8Array | undefined> {
  const response = await fetch(fileAddress(change, side));
  if (response.status === 404) return undefined;
  if (response.ok) return new Uint8Array(await response.arrayBuffer());
  return answered(response);
}

export type ChosenFile = { path: string; version: string; hunks?: Hunk[] };

export const commit = (files: readonly ChosenFile[], allowProtected: readonly string[]) =>
  post<{ committed: string[]; left: number }>("commit", { files, allowProtected });
export const undo = () => post<object>("undo", {});
export const discard = () => post<object>("discard", {});

/** Calls `on` for changes, and when the connection is lost or restored. */
export function listen(
  on: (event: "changed" | "runs" | "state" | "lost" | "back") => void,
): () => void {
  const source = new EventSource("api/events");
  for (const name of ["changed", "runs", "state"] as const) {
    source.addEventListener(name, () => on(name));
  }
  source.addEventListener("open", () => on("back"));
  source.addEventListener("error", () => on("lost"));
  return () => source.close();
}
