/** What the tools work on: one transaction of the workspace, and what was begun in it. */

import type { Denial } from "../../types/denials.js";
import type { NetworkAnswer, NetworkRequest } from "../../types/network.js";
import type { NativeExecInput, NativeLimits, SandboxedExecResult } from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import { shellQuote, visibleLine } from "../text.js";
import { Processes } from "./processes.js";
import { partsOf, shellWords, ToolError, textOf } from "./words.js";

/** What starts commands. */
export type Commands = Pick<Transaction, "exec" | "spawn">;

/** What the operator has decided; a model can take away from it, and never add. */
export type SandboxPolicy = {
  /** Real path on the host. */
  workspace: string;
  /** Opens the transaction that commands work in: the first, and another after one was discarded. */
  open(): Promise<Transaction>;
  /** Of one command; `timeoutMs` and `maxStdoutBytes` are the most that a call may ask for. */
  limits?: NativeLimits | undefined;
  /** Where commands start, relative to the workspace. Default: its root. */
  cwd?: string | undefined;
  /** Variables for all commands. */
  env?: Record<string, string> | undefined;
  /** Protected paths that a commit may change. Default none. */
  allowProtected?: readonly string[] | undefined;
  /** Looks at a command line before it runs. @throws where it is refused. */
  check?(line: string): void;
  /**
   * Commands in the same transaction whose policy has these grants, and those before. Default: nothing
   * is granted.
   */
  grant?(transaction: Transaction, denials: readonly Denial[]): Promise<Commands>;
  /** Is given who can be asked about hosts that no rule names, before anything is run. */
  useHosts?(hosts: HostQuestions): void;
  /** What a commit's record says of who has approved it. Default: the client's name. */
  approvedBy?: string | undefined;
};

/** One program, or a shell's line. */
export type CommandInput = { command?: string | undefined; argv?: string[] | undefined };

export class ToolSandbox {
  readonly policy: SandboxPolicy;
  readonly outputs = new OutputStore();
  readonly offers = new GrantOffers();
  readonly processes = new Processes();
  readonly hosts = new HostQuestions();
  #transaction: Promise<Transaction> | undefined;
  #commands: Commands | undefined; // after a grant
  #granting: Promise<unknown> = Promise.resolve();
  #running = 0;
  #generation = 0;
  #isClosed = false;
  #isKept = false;

  constructor(policy: SandboxPolicy) {
    this.policy = policy;
    policy.useHosts?.(this.hosts);
  }

  /** The transaction, which is opened when it is first wanted. */
  transaction(): Promise<Transaction> {
    if (this.#isClosed) throw new ToolError("the server is going away");
    this.#transaction ??= this.policy.open().catch((error: unknown) => {
      this.#transaction = undefined; // the next call tries again
      throw error;
    });
    return this.#transaction;
  }

  /** Grows with all that may have changed a file. */
  get generation(): number {
    return this.#generation;
  }

  /** Commands that run now. */
  get running(): number {
    return this.#running + this.processes.alive().length;
  }

  /** @throws ToolError unless there is one command; as `policy.check` does. */
  argvOf({ command, argv }: CommandInput): string[] {
    if ((command === undefined) === (argv === undefined)) {
      throw new ToolError(
        "give either `command`, a shell's line, or `argv`, a program and its arguments",
      );
    }
    this.policy.check?.(command ?? (argv ?? []).map(shellQuote).join(" "));
    return command === undefined ? (argv ?? []) : shellWords(command);
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    const commands = await this.#commandsNow();
    return this.#counted(() => commands.exec(input));
  }

  /** Starts one that goes on after the call; `name` is how it is spoken of. */
  async start(input: Parameters<Transaction["spawn"]>[0]): Promise<string> {
    const commands = await this.#commandsNow();
    return this.#counted(async () =>
      this.processes.add(await commands.spawn(input), () => {
        this.#generation += 1;
      }),
    );
  }

  /**
   * Does something that changes files otherwise than by a command.
   * @param since a {@link generation}: nothing may have changed a file since, or it is refused.
   */
  async changing<Value>(
    work: (transaction: Transaction) => Promise<Value>,
    since?: number,
  ): Promise<Value> {
    const transaction = await this.transaction();
    if (since !== undefined && (this.running > 0 || since !== this.#generation)) {
      throw new ToolError(
        "nothing was done: commands ran while the person was asked, so that there may be other changes than were shown. Call it again.",
      );
    }
    return this.#counted(() => work(transaction));
  }

  /** Whether what is refused can be granted; else the policy is fixed. */
  get canGrant(): boolean {
    return this.policy.grant !== undefined;
  }

  /** Gives grants, one after the other. @throws ToolError where none can be given. */
  async grant(denials: readonly Denial[]): Promise<void> {
    const { grant } = this.policy;
    if (grant === undefined) throw new ToolError("no grants can be given here");
    const done = this.#granting.then(async () => {
      this.#commands = await grant(await this.transaction(), denials);
      this.offers.give(denials);
    });
    this.#granting = done.catch(() => {});
    await done;
  }

  /**
   * All changes are gone; what comes next works in a new transaction, with the grants that there are.
   * @return how many there were.
   */
  async discard(): Promise<number> {
    const transaction = await this.transaction();
    const { length } = await transaction.changes();
    await this.#counted(() => transaction.discard());
    this.processes.forget();
    this.#transaction = undefined;
    this.#commands = undefined;
    this.#isKept = false;
    const given = this.offers.given();
    if (given.length > 0) await this.grant(given);
    return length;
  }

  /** The transaction is worth something without changes, too: `undo` takes its commit back. */
  keep(): void {
    this.#isKept = true;
  }

  /** Ends what runs, and keeps the transaction; one that has changed nothing is removed. Its id. */
  async close(): Promise<string | undefined> {
    this.#isClosed = true;
    const transaction = await this.#transaction?.catch(() => undefined);
    if (transaction === undefined) return undefined;
    const changes = await transaction.changes().catch(() => undefined);
    if (changes?.length === 0 && !this.#isKept) {
      await transaction.discard();
      return undefined;
    }
    await transaction.close();
    return transaction.id;
  }

  async #commandsNow(): Promise<Commands> {
    await this.#granting;
    const transaction = await this.transaction();
    return this.#commands ?? transaction;
  }

  async #counted<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#generation += 1;
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#generation += 1;
    }
  }
}

/** Hosts that no rule names: a person is asked while the command waits, where the client can do that. */

/** Puts a question; resolves with whether the answer was an explicit yes. */
export type Asker = (question: string, label: string, signal: AbortSignal) => Promise<boolean>;

const kMostAnswers = 1000;

export class HostQuestions {
  readonly #answers = new Map<string, Promise<NetworkAnswer>>();
  readonly #askers = new Set<Asker>(); // of the connections; the last is asked

  /** Somebody who can be asked; what is returned takes it back. */
  add(asker: Asker): () => void {
    this.#askers.add(asker);
    return () => this.#askers.delete(asker);
  }

  /**
   * As `onRequest` of a network by domain. An answer holds for as long as the server lives.
   * @throws (rejects) where nobody can be asked, or answers: a denial for which a grant is named.
   */
  async decide({ host, port, signal }: NetworkRequest): Promise<NetworkAnswer> {
    const key = `${host}:${port}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const asker = [...this.#askers].at(-1);
    if (asker === undefined || this.#answers.size >= kMostAnswers) {
      throw new Error("nobody can be asked");
    }
    const question = `A command in the sandbox wants to reach ${visibleLine(host)} on port ${port}, which no rule allows.`;
    const answer = asker(question, "Allow this until the server ends", signal).then(
      (yes): NetworkAnswer => (yes ? "allow" : "deny"),
    );
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key)); // nobody has answered: it is asked again
    return answer;
  }
}

/** Grants that a command's denials have named: a model can ask for one of these, and for no other. */

const kMostOffers = 256;

export class GrantOffers {
  readonly #byId = new Map<string, Denial>(); // the oldest first
  readonly #ids = new Map<string, string>();
  readonly #granted = new Map<string, Denial>();
  #last = 0;

  /** The id of a denial's grant; undefined where it has none that can be given. */
  offer(denial: Denial): string | undefined {
    const cli = denial.grant?.cli ?? "";
    if (cli === "" || this.#granted.has(cli)) return undefined;
    const known = this.#ids.get(cli);
    if (known !== undefined) return known;
    this.#last += 1;
    const id = `g${this.#last}`;
    this.#ids.set(cli, id);
    this.#byId.set(id, denial);
    const [oldest] = this.#byId;
    if (this.#byId.size > kMostOffers && oldest !== undefined) {
      this.#byId.delete(oldest[0]);
      this.#ids.delete(oldest[1].grant?.cli ?? "");
    }
    return id;
  }

  find(id: string): Denial | undefined {
    return this.#byId.get(id);
  }

  isGranted(denial: Denial): boolean {
    return this.#granted.has(denial.grant?.cli ?? "");
  }

  /** They have been given, for as long as the server lives. */
  give(denials: readonly Denial[]): void {
    for (const denial of denials) this.#granted.set(denial.grant?.cli ?? "", denial);
  }

  /** All that were given. */
  given(): Denial[] {
    return [...this.#granted.values()];
  }
}

/** What commands wrote, for clients that fetch it; the oldest goes when there is too much of it. */

/** The longest text of one message: what clients read at once is bounded, to 10 MB by the SDK's. */
export const kMostPart = 1024 ** 2;

const kMostBytes = 64 * 1024 ** 2;
const kMostOutputs = 256;

export type Stream = "stdout" | "stderr" | "diff";

export const kOutputTemplate = "native-runner://output/{id}/{stream}/{part}";

/** A text that a client may fetch, and need not. */
export type Link = { uri: string; name: string; mimeType: string; size?: number };

type Kept = { id: number; stream: Stream; parts: Uint8Array[]; bytes: number };

export class OutputStore {
  readonly #kept = new Map<string, Kept>(); // the oldest first
  #bytes = 0;
  #last = 0;

  /** A number for a command, of which up to two streams are kept. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** Keeps one, and gives a link for each of its parts. */
  keep(id: number, stream: Stream, bytes: Uint8Array): Link[] {
    const kept = { id, stream, parts: partsOf(bytes, kMostPart), bytes: bytes.length };
    this.#kept.set(`${id}/${stream}`, kept);
    this.#bytes += bytes.length;
    for (const [key, oldest] of this.#kept) {
      const isOver = this.#bytes > kMostBytes || this.#kept.size > kMostOutputs;
      if (!isOver || this.#kept.size === 1) break;
      this.#kept.delete(key);
      this.#bytes -= oldest.bytes;
    }
    return linksOf(kept);
  }

  /** All that can be fetched. */
  links(): Link[] {
    return [...this.#kept.values()].flatMap(linksOf);
  }

  /** The text of a part; undefined where there is none any more. */
  read(id: string, stream: string, part: string): string | undefined {
    const bytes = this.#kept.get(`${id}/${stream}`)?.parts[Number(part)];
    return bytes && textOf(bytes);
  }
}

function linksOf({ id, stream, parts }: Kept): Link[] {
  return parts.map((part, index) => ({
    uri: `native-runner://output/${id}/${stream}/${index}`,
    name: `${stream === "diff" ? "diff" : `${stream} of command`} ${id}${parts.length === 1 ? "" : `, part ${index + 1} of ${parts.length}`}`,
    mimeType: "text/plain",
    size: part.length,
  }));
}
