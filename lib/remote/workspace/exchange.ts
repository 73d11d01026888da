/**
 * How the two halves of a workspace speak with each other, whatever carries their messages. One exchange
 * is for one run: the caller's half brings the workspace to the worker, and after the run takes what was
 * changed. Messages arrive complete, once, and in the order in which they were sent, or the exchange is
 * cut: then each side undoes what is not complete.
 *
 * caller                                worker
 *   offer {id, entries, bytes, workspace}  →
 *                                       ←  ready                      (it has this very state)
 *                                       ←  bases {ids}                (states that it has, newest first)
 *   text {base, bytes} data… end        →                             (the manifest, or what differs)
 *                                       ←  missing {all} data… end    (indexes of entries)
 *   blobs {encoding} data… end          →                             (or again, and another offer:
 *                                       ←  ready                       a file has changed meanwhile)
 *   … the run …
 *                                       ←  changes {bytes} data… end  (what differs from that state)
 *                                       ←  blobs {encoding} data… end (if files are among it)
 *   verdict {committed}                 →
 * Either side, at any moment: failed {code, message}, the last message.
 */

import * as v from "valibot";

/** One message: a header that survives JSON, and bytes. */
export type Message = {
  /** Validated by who receives it, never before. */
  readonly header: unknown;
  /** At most {@link kMostBody} bytes; empty where there is nothing to carry. */
  readonly body: Uint8Array;
};

/** The most bytes of a message's body. */
export const kMostBody = 192 * 1024;

/**
 * What carries the messages of one exchange, on each side; to be made by who knows the wire. One call of
 * each kind is under way at most.
 */
export interface ExchangePort {
  /**
   * Sends a message; resolves when the next may come, which is how a slow receiver holds a fast sender
   * up. The body is the port's from then on.
   * @throws (rejects) where the exchange is cut.
   */
  send(message: Message): Promise<void>;
  /**
   * The next message of the other side.
   * @throws (rejects) where the exchange is cut.
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

/** Headers by their name. */
export type Headers = { [Name in keyof typeof kHeaders]: v.InferOutput<(typeof kHeaders)[Name]> };

const kNone = new Uint8Array(0);
const kCodes: ReadonlySet<string> = new Set<WorkspaceErrorCode>([
  "ERR_WORKSPACE_CHANGING",
  "ERR_WORKSPACE_LIMIT",
  "ERR_WORKSPACE_MESSAGE",
  "ERR_WORKSPACE_UNSUPPORTED",
]);

/** The other side's last word. */
function failureOf({ code, message }: Headers["failed"]): WorkspaceError {
  const known = kCodes.has(code) ? (code as WorkspaceErrorCode) : "ERR_WORKSPACE_CUT";
  return new WorkspaceError(`the other side says: ${message}`, known);
}

/** The other side has stopped in the middle of a stream, to begin anew with an offer. */
export class BeganAnew extends Error {}

/** One half's view of an exchange: messages of known names, and streams of bytes made of them. */
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
   * The next message, which has one of these names.
   * @throws (rejects) WorkspaceError ERR_WORKSPACE_CUT, ERR_WORKSPACE_MESSAGE, or what the other side
   * says that it has failed of.
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

  /** Sends a header and all bytes behind it. */
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

  /** The bytes behind a header that was received. @throws as {@link receive}; {@link BeganAnew}. */
  async *stream(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const { header, body } = await this.receive("data", "end", "again");
      if (header.t === "again") throw new BeganAnew("the other side has begun anew");
      if (header.t === "end") return;
      yield body;
    }
  }

  /** All of them, of which there may be so many. */
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

  /** Tells the other side why this one gives up, as far as it can still be told. */
  async fail(error: unknown): Promise<void> {
    const { code } = error as { code?: unknown };
    if (code === "ERR_WORKSPACE_CUT") return;
    const message = error instanceof Error ? error.message : String(error);
    const header: Headers["failed"] = {
      t: "failed",
      code: typeof code === "string" ? code.slice(0, 100) : "",
      message: message.slice(0, 2000),
    };
    await this.send(header).catch(() => {}); // nobody is there who could be reported
  }
}

/** What can go wrong while a workspace is moved, besides conflicts, which are a TransactionError. */

/** Why; see {@link WorkspaceError}. */
export type WorkspaceErrorCode =
  | "ERR_WORKSPACE_CHANGING"
  | "ERR_WORKSPACE_CUT"
  | "ERR_WORKSPACE_LIMIT"
  | "ERR_WORKSPACE_LOCKED"
  | "ERR_WORKSPACE_MESSAGE"
  | "ERR_WORKSPACE_UNSUPPORTED";

/**
 * A workspace can't be moved; nothing of it is half done on either side.
 *
 * ERR_WORKSPACE_CHANGING: a file changes all the time that it is read. ERR_WORKSPACE_CUT: the other side
 * is gone, or has given up. ERR_WORKSPACE_LIMIT: it has more entries or bytes than is allowed, or than
 * there is room for. ERR_WORKSPACE_LOCKED: another process has the cache. ERR_WORKSPACE_MESSAGE: what
 * the other side has sent is not what it may send. ERR_WORKSPACE_UNSUPPORTED: an entry can't be moved.
 */
export class WorkspaceError extends Error {
  /** Why, for programs. */
  readonly code: WorkspaceErrorCode;

  constructor(message: string, code: WorkspaceErrorCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "WorkspaceError";
    this.code = code;
  }
}

/** Of what has come from the other side. */
export function badMessage(what: string): WorkspaceError {
  return new WorkspaceError(`the other side has sent ${what}`, "ERR_WORKSPACE_MESSAGE");
}
