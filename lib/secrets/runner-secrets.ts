/** The secrets and rules of one runner: its authority, and its runs' placeholders. Lives on the runner's thread. */

import type { NativeTermination, NativeTrust } from "../../types/addon.js";
import type { HttpRequestRecord, NetworkByDomain } from "../../types/network.js";
import type { Denial, Outcome, SandboxedExecResult } from "../../types/public.js";
import { SandboxError } from "../errors.js";
import { loadAddon } from "../native.js";
import type { AskedRequest, Told } from "./messages.js";
import { checkSecretValue, placeholderFor } from "./placeholder.js";
import { givenValue, type SecretRule, type SecretsPolicy } from "./policy.js";
import { coversHost, type Target } from "./target.js";
import { Terminator } from "./terminator.js";
import { hostRoots, kTrustVariables, trustFiles } from "./trust.js";

const kMostRequests = 1000;
const kMostDenials = 100;
/** Milliseconds for an answer of `onRequest`, as for a connection. */
const kAnswerWithinMs = 30_000;
/** Open questions of one run, as for connections: more are denied. */
const kMostQuestions = 32;
/** Exit code of a command that a limit has ended, and the ends that this one may take the place of. */
const kKilled = 137;
const kEndable: readonly Outcome["kind"][] = ["aborted", "exited", "signaled"];

type OnRequest = NonNullable<NetworkByDomain["onRequest"]>;

let lastRunner = 0;
let lastRun = 0;

/** Forgets a runner that was collected. */
const collected = new FinalizationRegistry<number>((runner) => Terminator.forget(runner));

/** What is known of one command's requests. */
class Requests {
  readonly list: HttpRequestRecord[] = [];
  omitted = 0;
  misused: string | undefined;
  readonly #denials = new Map<string, Denial>();
  #denialsOmitted = 0;

  add({ record, isMisuse }: Told, endsRun: boolean): void {
    if (this.list.length < kMostRequests) this.list.push(record);
    else this.omitted += 1;
    if (isMisuse && endsRun) this.misused ??= record.secret;
    if (record.verdict === "refused") this.#deny(record, isMisuse);
  }

  #deny({ host, port, method, path, reason = "" }: HttpRequestRecord, isMisuse: boolean): void {
    const operation = `${method} ${path}`.slice(0, 200);
    const key = JSON.stringify([host, port, operation, reason]);
    const known = this.#denials.get(key);
    if (known !== undefined) {
      known.count += 1;
    } else if (this.#denials.size === kMostDenials) {
      this.#denialsOmitted += 1;
    } else {
      const kind = isMisuse ? "secret" : "request";
      const denial = { kind, operation, host, port, errno: "", by: "network", count: 1 } as const;
      this.#denials.set(key, { ...denial, notAdvised: reason });
    }
  }

  /** The terminator has ended: some request may be unknown. */
  tear(): void {
    this.omitted += 1;
  }

  /** Adds what is known to the result. */
  addTo(result: SandboxedExecResult): SandboxedExecResult {
    const denials = [...this.#denials.values()];
    result.denials.push(...denials);
    result.denialsOmitted += this.#denialsOmitted;
    // Also of a command that has ended by itself meanwhile.
    const isEnded = this.misused !== undefined && kEndable.includes(result.outcome.kind);
    if (isEnded) {
      result.outcome = { kind: "limit-exceeded", limit: "secret" };
      result.exitCode = kKilled;
    }
    for (const audit of result.audits) {
      audit.requests = this.list;
      if (this.omitted > 0) audit.requestsOmitted = this.omitted;
      if (denials.length > 0) audit.denials = [...(audit.denials ?? []), ...denials];
      if (this.#denialsOmitted > 0) {
        audit.denialsOmitted = (audit.denialsOmitted ?? 0) + this.#denialsOmitted;
      }
      if (isEnded) audit.outcome = "limit-exceeded";
    }
    return result;
  }
}

/** What is done for a command meanwhile. */
export type CommandHooks = {
  /** Ends it: it has sent a placeholder where its value may not go. */
  end: () => void;
  /** Its program and arguments. */
  argv: readonly string[];
  told: (record: HttpRequestRecord) => void;
};

/** A command that is under way. */
export type SecretsOfCommand = {
  /** Returns the result with what is known of the command's requests. */
  settle: (result: Promise<SandboxedExecResult>) => Promise<SandboxedExecResult>;
};

/** A run, or a session with its commands: what it has instead of values. */
export class SecretsOfRun {
  /** The terminator's number of it. */
  readonly run: number;
  /** Variables of its commands. */
  readonly env: Readonly<Record<string, string>>;
  readonly #terminator: Terminator;
  readonly #targets: readonly Target[];
  readonly #questions = new Set<AbortController>();
  readonly #commands = new Map<Requests, CommandHooks>();

  constructor(
    terminator: Terminator,
    runner: number,
    { secrets, rules, targets }: SecretsPolicy,
    onRequest: OnRequest | undefined,
  ) {
    lastRun += 1;
    this.#targets = targets;
    this.run = lastRun;
    this.#terminator = terminator;
    const held = secrets.map(({ name, value, targets, placement }) => {
      const known = typeof value === "string" ? value : undefined;
      return { name, targets, placement, value: known, placeholder: placeholderFor(known) };
    });
    const placeholders = held.map(({ name, placeholder }) => [name, placeholder]);
    this.env = { ...kTrustVariables, ...Object.fromEntries(placeholders) };
    const ending = new Set(secrets.filter(({ endsRun }) => endsRun).map(({ name }) => name));
    const byName = new Map(secrets.map((secret) => [secret.name, secret]));
    terminator.begin(
      { run: this.run, runner, secrets: held, rules },
      {
        mayRequest: onRequest && ((request) => this.#isAllowed(request, onRequest)),
        valueOf: (name) => askedValue(byName.get(name)),
        told: (told) => {
          for (const each of told) this.#told(each, ending.has(each.record.secret ?? ""));
        },
      },
    );
  }

  #told(told: Told, endsRun: boolean): void {
    for (const [requests, { end, told: tell }] of this.#commands) {
      requests.add(told, endsRun);
      tell(told.record);
      if (requests.misused !== undefined) end();
    }
  }

  /** Asks about a request; no answer in time, an error and any other value are denials. Never rejects. */
  async #isAllowed(request: AskedRequest, onRequest: OnRequest): Promise<boolean> {
    if (this.#questions.size >= kMostQuestions) return false;
    const [hooks, ...others] = this.#commands.values();
    const command = hooks && others.length === 0 && { command: [...hooks.argv] };
    const controller = new AbortController();
    this.#questions.add(controller);
    const late = setTimeout(() => controller.abort(), kAnswerWithinMs);
    const over = new Promise((resolve) => {
      controller.signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    try {
      const ask = async () => onRequest({ ...request, ...command, signal: controller.signal });
      return (await Promise.race([ask(), over])) === "allow";
    } catch {
      return false;
    } finally {
      clearTimeout(late);
      this.#questions.delete(controller);
    }
  }

  /** @param isOnly the run has no other command. */
  enter(hooks: CommandHooks, isOnly: boolean): SecretsOfCommand {
    const requests = new Requests();
    this.#commands.set(requests, hooks);
    return {
      settle: async (running) => {
        try {
          const result = await running;
          if (isOnly && !this.#mayHaveAsked(result)) this.close();
          else await this.#terminator.flush(this.run, isOnly).catch(() => requests.tear());
          return requests.addTo(result);
        } catch (error) {
          if (isOnly) this.close();
          throw error;
        } finally {
          if (isOnly) this.#endQuestions();
          this.#commands.delete(requests);
        }
      },
    };
  }

  /** False if the record of a run's connections has none to a host whose TLS ends here. */
  #mayHaveAsked({ audits }: SandboxedExecResult): boolean {
    return audits.some(
      ({ connections = [], connectionsOmitted = 0 }) =>
        connectionsOmitted > 0 ||
        connections.some(
          ({ host, port, verdict }) =>
            verdict === "allowed" && this.#targets.some((each) => coversHost(each, { host, port })),
        ),
    );
  }

  #endQuestions(): void {
    for (const question of this.#questions) question.abort();
  }

  /** Serves no more requests. */
  close(): void {
    this.#endQuestions();
    this.#terminator.flush(this.run, true).catch(() => {}); // the terminator is gone
  }
}

/** Asks a secret's function. */
async function askedValue(secret: SecretRule | undefined) {
  if (typeof secret?.value !== "function") throw new Error("there is no such secret");
  const given = givenValue(await secret.value());
  if (given === undefined) throw new Error("it gave no value");
  checkSecretValue(given.value, "value");
  return given;
}

export class RunnerSecrets {
  readonly #number: number;
  readonly #policy: SecretsPolicy;
  readonly #onRequest: OnRequest | undefined;
  #terminator: Terminator | undefined;
  #trust: NativeTrust | undefined;
  #opening: Promise<void> | undefined;

  /** @param onRequest is asked about requests that no rule allows; undefined: they are refused. */
  constructor(policy: SecretsPolicy, onRequest?: OnRequest) {
    lastRunner += 1;
    this.#number = lastRunner;
    this.#policy = policy;
    this.#onRequest = onRequest;
    collected.register(this, this.#number);
  }

  /** For the addon; starts the terminator. Undefined without an addon, which is reported on first use. */
  termination(): NativeTermination | undefined {
    try {
      loadAddon();
    } catch {
      return undefined;
    }
    const { hosts, plain, texts } = this.#policy;
    return { hosts, plain, texts, channel: Terminator.current().channel, number: this.#number };
  }

  /** Returns undefined once the authority is there; until then what to wait for. */
  ready(): Promise<void> | undefined {
    if (this.#terminator !== undefined && !this.#terminator.isGone) return undefined;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const terminator = Terminator.current();
    const roots = await hostRoots();
    const pem = await terminator.authorityOf(this.#number, [roots.system, roots.added]);
    this.#trust = trustFiles(roots, pem);
    this.#terminator = terminator;
  }

  /** Returns the files that sandboxes need: the same object as long as they are the same. Call once it is ready. */
  trust(): NativeTrust {
    if (this.#trust !== undefined) return this.#trust;
    throw new SandboxError("the runner's secrets are not ready", { code: "ERR_SANDBOX_SETUP" });
  }

  /** Makes a run known, or a session. Call once it is ready. */
  open(): SecretsOfRun {
    if (this.#terminator !== undefined)
      return new SecretsOfRun(this.#terminator, this.#number, this.#policy, this.#onRequest);
    throw new SandboxError("the runner's secrets are not ready", { code: "ERR_SANDBOX_SETUP" });
  }
}
