/**
 * The protocol between the two halves of a workspace, over any transport. One exchange serves one run: the caller's
 * half sends the workspace to the worker, and receives the changes after the run. Messages arrive complete, once and in
 * the order sent, or the exchange is cut; then each side undoes what is incomplete.
 *
 * caller                                worker
 *   offer {id, entries, bytes, workspace}  →
 *                                       ←  ready                      (it has this very state)
 *                                       ←  bases {ids}                (states that it has, newest first)
 *   text {base, bytes} data… end        →                             (the manifest, or the difference)
 *                                       ←  missing {all} data… end    (indexes of entries)
 *   blobs {encoding} data… end          →                             (or again, and another offer:
 *                                       ←  ready                       a file has changed meanwhile)
 *   … the run …
 *                                       ←  changes {bytes} data… end  (the difference from that state)
 *                                       ←  blobs {encoding} data… end (if files are among it)
 *   verdict {committed}                 →
 * Either side, at any moment: failed {code, message}, the last message.
 */

import * as v from "valibot";

/** One message: a header that survives JSON, and bytes. */
export type Message = {
  /** Validated only by the receiver. */
  readonly header: unknown;
  /** At most {@link kMostBody} bytes; may be empty. */
  readonly body: Uint8Array;
};

/** The most bytes of a message's body. */
export const kMostBody = 192 * 1024;

/** The transport of one exchange on each side. At most one call of each kind is pending. */
export interface ExchangePort {
  /**
   * Sends a message; resolves when the next one may be sent, so that a slow receiver slows the sender down. The port
   * takes ownership of the body.
   * @throws (rejects) when the exchange is cut
   */
  send(message: Message): Promise<void>;
  /**
   * Returns the next message of the other side.
   * @throws (rejects) when the exchange is cut
   */
  receive(): Promise<Message>;
}

const kId = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const kCount = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const kHeaders = {
  offer: v.strictObject({
    t: v.literal("offer"),
    id: kId,
    entries: kCount,
    bytes: kCount,
    workspace: kId,
  }),
  ready: v.strictObject({ t: v.literal("ready") }),
  bases: v.strictObject({ t: v.literal("bases"), ids: v.pipe(v.array(kId), v.maxLength(64)) }),
  text: v.strictObject({ t: v.literal("text"), base: v.optional(kId), bytes: kCount }),
  missing: v.strictObject({ t: v.literal("missing"), all: v.boolean() }),
  blobs: v.strictObject({
    t: v.literal("blobs"),
    encoding: v.picklist(["identity", "brotli"]),
  }),
  changes: v.strictObject({ t: v.literal("changes"), bytes: kCount }),
  verdict: v.strictObject({ t: v.literal("verdict"), committed: v.boolean() }),
  again: v.strictObject({ t: v.literal("again") }),
  data: v.strictObject({ t: v.literal("data") }),
  end: v.strictObject({ t: v.literal("end") }),
  failed: v.strictObject({
    t: v.literal("failed"),
    code: v.pipe(v.string(), v.maxLength(100)),
    message: v.pipe(v.string(), v.maxLength(2000)),
  }),
};

/** Headers by name. */
export type Headers = { [Name in keyof typeof kHeaders]: v.InferOutput<(typeof kHeaders)[Name]> };

const kNone = new Uint8Array(0);
const kCodes: ReadonlySet<string> = new Set<WorkspaceErrorCode>([
  "ERR_WORKSPACE_CHANGING",
  "ERR_WORKSPACE_LIMIT",
  "ERR_WORKSPACE_MESSAGE",
  "ERR_WORKSPACE_UNSUPPORTED",
]);

/** Returns the other side's final error. */
function failureOf({ code, message }: Headers["failed"]): WorkspaceError {
  const known = kCodes.has(code) ? (code as WorkspaceErrorCode) : "ERR_WORKSPACE_CUT";
  return new WorkspaceError(`the other side says: ${message}`, known);
}

/** Thrown when the other side has stopped in the middle of a stream, to start again with an offer. */
export class BeganAnew extends Error {}

/** One half's view of an exchange: messages of known names, and byte streams made of them. */
export class Exchange {
  readonly #port: ExchangePort;

  constructor(port: ExchangePort) {
    this.#port = port;
  }

  async #carried<Value>(work: Promise<Value>): Promise<Value> {
    try {
      return await work;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new WorkspaceError(`the exchange was cut: ${reason}`, "ERR_WORKSPACE_CUT", error);
    }
  }

  /** @throws (rejects) WorkspaceError ERR_WORKSPACE_CUT */
  async send(header: Headers[keyof Headers], body: Uint8Array = kNone): Promise<void> {
    await this.#carried(this.#port.send({ header, body }));
  }

  /**
   * Returns the next message, which must have one of these names.
   * @throws (rejects) WorkspaceError ERR_WORKSPACE_CUT, ERR_WORKSPACE_MESSAGE, or the failure that the other side
   * reports
   */
  async receive<Name extends keyof Headers>(
    ...names: Name[]
  ): Promise<{ header: Headers[Name]; body: Uint8Array }> {
    const { header, body } = await this.#carried(this.#port.receive());
    const failed = v.safeParse(kHeaders.failed, header);
    if (failed.success) throw failureOf(failed.output);
    for (const name of names) {
      const parsed = v.safeParse(kHeaders[name], header);
      if (!parsed.success) continue;
      if (body.byteLength > kMostBody) throw badMessage("a body that is too long");
      return { header: parsed.output as Headers[Name], body };
    }
    throw badMessage(`something else than "${names.join('" or "')}"`);
  }

  /** Sends a header, followed by all bytes. */
  async sendStream(
    header: Headers[keyof Headers],
    chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<void> {
    await this.send(header);
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.byteLength; at += kMostBody) {
        await this.send({ t: "data" }, chunk.subarray(at, at + kMostBody));
      }
    }
    await this.send({ t: "end" });
  }

  /**
   * Yields the bytes that follow a received header.
   * @throws as {@link receive}; {@link BeganAnew}
   */
  async *stream(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const { header, body } = await this.receive("data", "end", "again");
      if (header.t === "again") throw new BeganAnew("the other side has begun anew");
      if (header.t === "end") return;
      yield body;
    }
  }

  /** Returns all bytes of a stream, at most `most`. */
  async bytes(most: number): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of this.stream()) {
      size += chunk.byteLength;
      if (size > most) throw badMessage(`more than the ${most} bytes that were to come`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, size);
  }

  /** Reports an error to the other side, if it can still be reached. */
  async fail(error: unknown): Promise<void> {
    const { code } = error as { code?: unknown };
    if (code === "ERR_WORKSPACE_CUT") return;
    const message = error instanceof Error ? error.message : String(error);
    const header: Headers["failed"] = {
      t: "failed",
      code: typeof code === "string" ? code.slice(0, 100) : "",
      message: message.slice(0, 2000),
    };
    await this.send(header).catch(() => {}); // the other side is gone
  }
}

/** Errors of moving a workspace. Conflicts are a TransactionError instead. */

/** The reason; see {@link WorkspaceError}. */
export type WorkspaceErrorCode =
  | "ERR_WORKSPACE_CHANGING"
  | "ERR_WORKSPACE_CUT"
  | "ERR_WORKSPACE_LIMIT"
  | "ERR_WORKSPACE_LOCKED"
  | "ERR_WORKSPACE_MESSAGE"
  | "ERR_WORKSPACE_UNSUPPORTED";

/**
 * A workspace can't be moved; neither side keeps a partial result.
 *
 * ERR_WORKSPACE_CHANGING: a file keeps changing while it is read. ERR_WORKSPACE_CUT: the other side is gone, or has
 * given up. ERR_WORKSPACE_LIMIT: it has more entries or bytes than allowed, or than there is room for.
 * ERR_WORKSPACE_LOCKED: another process uses the cache. ERR_WORKSPACE_MESSAGE: the other side has sent an invalid
 * message. ERR_WORKSPACE_UNSUPPORTED: an entry can't be moved.
 */
export class WorkspaceError extends Error {
  /** The reason, for programs. */
  readonly code: WorkspaceErrorCode;

  constructor(message: string, code: WorkspaceErrorCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "WorkspaceError";
    this.code = code;
  }
}

/** Returns the error for an invalid message of the other side. */
export function badMessage(what: string): WorkspaceError {
  return new WorkspaceError(`the other side has sent ${what}`, "ERR_WORKSPACE_MESSAGE");
}
