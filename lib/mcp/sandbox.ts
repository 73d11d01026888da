/** The state behind the tools: one transaction of the workspace, and the commands started in it. */

import type { Denial } from "../../types/denials.js";
import type { NetworkAnswer, NetworkRequest } from "../../types/network.js";
import type { NativeExecInput, NativeLimits, SandboxedExecResult } from "../../types/public.js";
import type { ReviewComment } from "../../types/review.js";
import type { Transaction } from "../../types/transaction.js";
import { ForwardError } from "../errors.js";
import { notableChanges } from "../notable-changes.js";
import { shellQuote, visibleLine } from "../text.js";
import type { SandboxReview } from "./comments.js";
import { Processes } from "./processes.js";
import { type Commands, SharedSession } from "./shared-session.js";
import { partsOf, shellWords, ToolError, textOf } from "./words.js";

/** The operator's decisions; a model can narrow them, and never widen them. */
export type SandboxPolicy = {
  /** Real path on the host. */
  workspace: string;
  /** What a model is told about it besides how changes are handled: some sentences. Default: nothing. */
  about?: string | undefined;
  /** Opens the transaction for commands: the first, and a new one after a discard. */
  open(): Promise<Transaction>;
  /** Limits of each command; a call may request at most its `timeoutMs` and `maxStdoutBytes`. */
  limits?: NativeLimits | undefined;
  /** Directory in which commands start, relative to the workspace. Default: its root. */
  cwd?: string | undefined;
  /** Variables for all commands. */
  env?: Record<string, string> | undefined;
  /** Protected paths that a commit may change. Default none. */
  allowProtected?: readonly string[] | undefined;
  /**
   * Checks a command line before it runs.
   * @throws if it is refused
   */
  check?(line: string): void;
  /**
   * Returns commands in the same transaction whose policy has these grants in addition to earlier ones. Default: no
   * grants are possible.
   */
  grant?(transaction: Transaction, denials: readonly Denial[]): Promise<Commands>;
  /** Receives the object that asks a person about hosts that no rule names, before any command runs. */
  useHosts?(hosts: HostQuestions): void;
  /** Options that name the transactions' directory in `native-runner tx …`. Default: the usual one. */
  place?: string | undefined;
  /** The approver in a commit's record. Default: the client's name. */
  approvedBy?: string | undefined;
  /** A page on which a person reviews the same transaction, and writes comments. Default none. */
  review?: SandboxReview | undefined;
};

/** A program with arguments, or a shell's command line. */
export type CommandInput = { command?: string | undefined; argv?: string[] | undefined };

/** A branch of a sandbox's transaction, by its name. */
export type Branch = { note: string | undefined; sandbox: ToolSandbox };

const kMostBranches = 16;

export class ToolSandbox {
  readonly policy: SandboxPolicy;
  readonly outputs: OutputStore;
  readonly offers: GrantOffers;
  readonly processes: Processes;
  readonly hosts: HostQuestions;
  readonly branches = new Map<string, Branch>();
  #transaction: Promise<Transaction> | undefined;
  #commands: Commands | undefined; // set by a grant
  #granting: Promise<unknown> = Promise.resolve();
  readonly #shared = new SharedSession();
  #running = 0;
  #generation = 0;
  #isClosed = false;
  #isKept = false;

  /** @param trunk the sandbox that it is a branch of: both have the same outputs, processes and grants */
  constructor(policy: SandboxPolicy, trunk?: ToolSandbox) {
    this.policy = policy;
    this.outputs = trunk?.outputs ?? new OutputStore();
    this.offers = trunk?.offers ?? new GrantOffers();
    this.processes = trunk?.processes ?? new Processes();
    this.hosts = trunk?.hosts ?? new HostQuestions();
    if (trunk === undefined) policy.useHosts?.(this.hosts);
  }

  /**
   * Makes a branch that begins as the transaction is now, with the grants that were given.
   * @throws (rejects) ToolError for a name that is taken, and if there are too many
   */
  async fork(name: string, note: string | undefined): Promise<void> {
    if (this.branches.has(name)) throw new ToolError(`there is a branch ${name} already`);
    if (this.branches.size >= kMostBranches) {
      throw new ToolError(`there are ${kMostBranches} branches already`);
    }
    const { review: _, useHosts: __, ...policy } = this.policy;
    const transaction = await this.transaction();
    const forked = transaction.fork();
    const sandbox = new ToolSandbox({ ...policy, open: () => forked }, this);
    this.branches.set(name, { note, sandbox });
    try {
      await sandbox.transaction();
      const given = this.offers.given();
      if (given.length > 0) await sandbox.grant(given);
    } catch (error) {
      this.branches.delete(name);
      throw error;
    }
  }

  /** @throws ToolError if there is none of this name */
  branch(name: string): ToolSandbox {
    const found = this.branches.get(name);
    if (found !== undefined) return found.sandbox;
    const known = [...this.branches.keys()].join(", ") || "none";
    throw new ToolError(
      `there is no branch ${JSON.stringify(name.slice(0, 100))}; there are: ${known}`,
    );
  }

  /** Returns the transaction, opened on first use. */
  transaction(): Promise<Transaction> {
    if (this.#isClosed) throw new ToolError("the server is going away");
    this.#transaction ??= this.#open().catch((error: unknown) => {
      this.#transaction = undefined; // the next call tries again
      throw error;
    });
    return this.#transaction;
  }

  /** Grows with every action that may have changed a file. */
  get generation(): number {
    return this.#generation;
  }

  /** Number of commands that run now. */
  get running(): number {
    return this.#running + this.processes.alive().length;
  }

  /**
   * Returns the arguments of a command.
   * @throws ToolError unless exactly one form is given; the errors of `policy.check`
   */
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
    return this.#counted(() => this.#shared.exec(commands, input));
  }

  /** Starts a process that outlives the call, and returns its id. */
  async start(
    input: Parameters<Transaction["spawn"]>[0],
    port?: number,
  ): Promise<{ process: string; url?: string }> {
    const commands = await this.#commandsNow();
    return this.#counted(async () => {
      const live = await this.#shared.start(commands, input);
      const process = this.processes.add(live, () => {
        this.#generation += 1;
      });
      if (port === undefined) return { process };
      try {
        return { process, url: (await live.forward(port)).url };
      } catch (error) {
        if (!(error instanceof ForwardError)) throw error;
        if (error.outcome !== undefined) return { process }; // `read` tells how it ended
        await live.stop();
        throw new ToolError(`nothing was started: ${error.message}`);
      }
    });
  }

  /**
   * Runs work that changes files other than by a command.
   * @param since a {@link generation}: the work is refused if a file may have changed since
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

  /** True if denials can be granted; false if the policy is fixed. */
  get canGrant(): boolean {
    return this.policy.grant !== undefined;
  }

  /**
   * Gives grants, one request after the other.
   * @throws ToolError if no grants are possible
   */
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
   * Discards all changes. Later commands run in a new transaction, with the same grants.
   * @return the number of discarded changes
   */
  async discard(): Promise<number> {
    const transaction = await this.transaction();
    const { length } = notableChanges(await transaction.changes());
    await this.#counted(() => transaction.discard());
    await this.#forget();
    return length;
  }

  /** Returns the comments on the review page that a person has not resolved; none without a page. */
  async openComments(): Promise<readonly ReviewComment[]> {
    const all = (await this.policy.review?.comments()) ?? [];
    return all.filter(({ isResolved }) => !isResolved);
  }

  /** Keeps the transaction even without changes, so that `undo` can revert its commit. */
  keep(): void {
    this.#isKept = true;
  }

  /** Ends all commands and keeps the transaction; one without changes is removed. Resolves with its id. */
  async close(): Promise<string | undefined> {
    this.#isClosed = true;
    await this.policy.review?.close();
    const transaction = await this.#transaction?.catch(() => undefined);
    if (transaction === undefined) return undefined;
    for (const { sandbox } of this.branches.values()) await sandbox.#leave(transaction);
    const changes = await transaction.changes().catch(() => undefined);
    if (changes?.length === 0 && !this.#isKept) {
      await transaction.discard();
      return undefined;
    }
    await transaction.close();
    return transaction.id;
  }

  /** Ends the commands of a branch, and keeps it unless it is as its trunk is. */
  async #leave(trunk: Transaction): Promise<void> {
    this.#isClosed = true;
    const transaction = await this.#transaction?.catch(() => undefined);
    const changes = await transaction?.changes({ since: trunk }).catch(() => undefined);
    if (changes?.length === 0) await transaction?.discard();
    else await transaction?.close();
  }

  async #open(): Promise<Transaction> {
    const transaction = await this.policy.open();
    try {
      await this.policy.review?.show(transaction, (state, canUndo) => {
        this.#settled(transaction, state, canUndo);
      });
    } catch (error) {
      await transaction.close();
      throw error;
    }
    return transaction;
  }

  /** Follows what a person has done on the review page. */
  #settled(
    transaction: Transaction,
    state: "open" | "discarded" | "closed",
    canUndo: boolean,
  ): void {
    this.#generation += 1;
    if (canUndo) this.keep();
    if (state !== "discarded") return;
    void this.#transaction
      ?.then(async (own) => {
        if (own === transaction) await this.#forget();
      })
      .catch(() => {}); // the next call reports it
  }

  /** Forgets a discarded transaction; grants hold in the next one too. */
  async #forget(): Promise<void> {
    this.processes.forget();
    this.#transaction = undefined;
    this.#commands = undefined;
    this.#isKept = false;
    const given = this.offers.given();
    if (given.length > 0) await this.grant(given);
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

/** Asks a person about hosts that no rule names, while the command waits, if the client supports it. */

/** Asks a question; resolves with true for an explicit yes. */
export type Asker = (question: string, label: string, signal: AbortSignal) => Promise<boolean>;

const kMostAnswers = 1000;

export class HostQuestions {
  readonly #answers = new Map<string, Promise<NetworkAnswer>>();
  readonly #askers = new Set<Asker>(); // one per connection; the last one is asked

  /** Adds a way to ask a person; the returned function removes it. */
  add(asker: Asker): () => void {
    this.#askers.add(asker);
    return () => this.#askers.delete(asker);
  }

  /**
   * Decides as `onRequest` of a network by domain. An answer holds for the server's lifetime.
   * @throws (rejects) if no person can be asked, or none answers: the denial then names a grant
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
    answer.catch(() => this.#answers.delete(key)); // unanswered: ask again next time
    return answer;
  }
}

/** Grants named by the denials of commands: a model can request only these. */

const kMostOffers = 256;

export class GrantOffers {
  readonly #byId = new Map<string, Denial>(); // the oldest first
  readonly #ids = new Map<string, string>();
  readonly #granted = new Map<string, Denial>();
  #last = 0;

  /** Returns the id of a denial's grant; undefined if it has none that can be given. */
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

  /** Records grants as given, for the server's lifetime. */
  give(denials: readonly Denial[]): void {
    for (const denial of denials) this.#granted.set(denial.grant?.cli ?? "", denial);
  }

  /** Returns all given grants. */
  given(): Denial[] {
    return [...this.#granted.values()];
  }
}

/** Output of commands that clients may fetch; the oldest is dropped when the total exceeds its limit. */

/** Most bytes per message: clients limit what they read at once, the SDK's to 10 MB. */
export const kMostPart = 1024 ** 2;

const kMostBytes = 64 * 1024 ** 2;
const kMostOutputs = 256;

export type Stream = "stdout" | "stderr" | "diff";

export const kOutputTemplate = "native-runner://output/{id}/{stream}/{part}";

/** A text that a client may fetch. */
export type Link = { uri: string; name: string; mimeType: string; size?: number };

type Kept = { id: number; stream: Stream; parts: Uint8Array[]; bytes: number };

export class OutputStore {
  readonly #kept = new Map<string, Kept>(); // the oldest first
  #bytes = 0;
  #last = 0;

  /** Returns a number for a command, under which up to two streams are kept. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** Keeps a stream, and returns a link to each of its parts. */
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

  /** Returns links to all kept parts. */
  links(): Link[] {
    return [...this.#kept.values()].flatMap(linksOf);
  }

  /** Returns the text of a part; undefined if it is not kept any more. */
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
