/** Calls of the page's server. Addresses are relative, since the page's own address has the token. */

import {
  type Facts,
  type Hunk,
  type LineCounts,
  Refusal,
  type ReviewChange,
  type ReviewComment,
  type ReviewRun,
  type SentBranch,
} from "./model.js";

type ReviewEvent = "changed" | "runs" | "state" | "comments" | "branches";

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

const send = async <Value>(method: "POST" | "PATCH" | "DELETE", path: string, body: object) =>
  answered<Value>(
    await fetch(`api/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );

const post = <Value>(path: string, body: object) => send<Value>("POST", path, body);

export const facts = () => get<Facts>("transaction");
export const changes = () => get<{ revision: number; changes: ReviewChange[] }>("changes");
export const branches = () => get<{ branches: SentBranch[]; canTakeBack: boolean }>("branches");
export async function changesOf(branch: string) {
  const { revision, changes } = await get<{ revision: number; changes: ReviewChange[] }>(
    `changes?${new URLSearchParams({ branch })}`,
  );
  for (const change of changes) change.branch = branch;
  return { revision, changes };
}
export const linesOf = async (branch: string) =>
  (await get<{ lines?: LineCounts }>(`lines?${new URLSearchParams({ branch })}`)).lines;
export const runs = async () => (await get<{ runs: ReviewRun[] }>("runs")).runs;

export const comments = async () => (await get<{ comments: ReviewComment[] }>("comments")).comments;

export type Side = "before" | "after";

/** Where a comment is: on a line, with what the person sees there, or on the whole file. */
export type Place = { path: string; side: Side; line?: number; lineText?: string };

/** The server tells all pages of a changed comment, this one too. */
export const addComment = (place: Place, text: string) =>
  post<ReviewComment>("comments", { ...place, text });
export const changeComment = (id: string, patch: { text?: string; isResolved?: boolean }) =>
  send<ReviewComment>("PATCH", "comments", { id, ...patch });
export const removeComment = (id: string) => send<object>("DELETE", "comments", { id });

/** Returns the address of one side; `version` keeps the browser from showing a cached other version. */
export function fileAddress(
  { path, version, branch }: ReviewChange,
  side: Side,
  asPicture = false,
): string {
  const query = new URLSearchParams({
    ...{ path, side, version },
    ...(branch !== undefined && { branch }),
    ...(asPicture && { as: "picture" }),
  });
  return `api/file?${query}`;
}

/** Returns the bytes of one side; undefined if it has no file. */
export async function file(
  change: ReviewChange,
  side: Side,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const response = await fetch(fileAddress(change, side), { signal });
  if (response.status === 404) return undefined;
  if (response.ok) return new Uint8Array(await response.arrayBuffer());
  return answered(response);
}

export type ChosenFile = { path: string; version: string; hunks?: Hunk[] };

export const commit = (files: readonly ChosenFile[], allowProtected: readonly string[]) =>
  post<{ committed: string[]; left: number }>("commit", { files, allowProtected });
/** Takes a branch as it was shown, whole or some paths of it. */
export const take = (wish: {
  branch: string;
  revision: number;
  paths?: readonly string[];
  onConflict?: "theirs";
}) => post<{ taken: string[] }>("take", wish);
export const takeBack = () => post<object>("take-back", {});
export const undo = () => post<object>("undo", {});
export const discard = () => post<object>("discard", {});

type Listener = (event: ReviewEvent | "lost" | "back") => void;
const listeners = new Set<Listener>();
let source: EventSource | undefined;

/** One connection for all listeners: a browser has only six for all its tabs. */
function connect(): EventSource {
  const opened = new EventSource("api/events");
  const tell: Listener = (event) => {
    for (const listener of [...listeners]) listener(event);
  };
  for (const name of ["changed", "runs", "state", "comments", "branches"] as const) {
    opened.addEventListener(name, () => tell(name));
  }
  opened.addEventListener("open", () => tell("back"));
  opened.addEventListener("error", () => tell("lost"));
  return opened;
}

/** Calls `on` for changes, and when the connection is lost or restored. */
export function listen(on: Listener): () => void {
  listeners.add(on);
  source ??= connect();
  return () => {
    listeners.delete(on);
    if (listeners.size > 0) return;
    source?.close();
    source = undefined;
  };
}
