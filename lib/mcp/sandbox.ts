/** What the tools work on: one transaction of the workspace, and what was begun in it. */

import type { Denial } from "../../types/denials.js";
import type { NativeExecInput, NativeLimits, SandboxedExecResult } from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import { shellQuote } from "../shell-quote.js";
import { HostQuestions } from "./host-questions.js";
import { GrantOffers } from "./offers.js";
import { OutputStore } from "./output-store.js";
import { Processes } from "./processes.js";
import { shellWords } from "./shell.js";
import { ToolError } from "./tool.js";

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
