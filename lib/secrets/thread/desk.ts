/** What the terminator knows of a runner, and of the runs that are under way. */

import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import type { Masks } from "../mask.js";
import type { AskedRequest, HeldSecret, Told } from "../messages.js";
import { type Header, judge, type Request, type RunSecret, substitute } from "../substitution.js";
import { type HttpRuleTarget, ruled } from "../target.js";
import type { Authority } from "./authority.js";

/** A runner: who it is to the sandboxes, and by which roots it verifies servers. */
export class Desk {
  readonly authority: Authority;
  readonly #roots: readonly string[];
  #context: SecureContext | undefined;

  /** @param roots PEM texts, besides Node's own. */
  constructor(authority: Authority, roots: readonly string[]) {
    this.authority = authority;
    this.#roots = roots;
  }

  /** What verifies servers; made once, since it reads hundreds of certificates. */
  get context(): SecureContext {
    this.#context ??= createSecureContext({ ca: [...rootCertificates, ...this.#roots] });
    return this.#context;
  }
}

/** What to do with a request. */
export type Decision =
  | {
      kind: "send";
      headers: Header[];
      query: string;
      secret: string | undefined;
      rule: string | undefined;
      masks: Masks;
    }
  | {
      kind: "refuse";
      status: number;
      reason: string;
      secret: string | undefined;
      isMisuse: boolean;
    };

/** A value that was asked for, until it expires. */
type Asked = { value: string; expiresMs: number | undefined };
export type Ask = (name: string) => Promise<Asked>;
export type AskRequest = (request: AskedRequest) => Promise<boolean>;

/** The rule of a request that was asked about, as that of a connection is. */
const kAsked = "onRequest";

const refused = (status: number, reason: string, secret?: string, isMisuse = false): Decision => ({
  kind: "refuse",
  status,
  reason,
  secret,
  isMisuse,
});

/** A run, or a session: its secrets, its rules, and what is told of its requests. */
export class RunDesk {
  readonly desk: Desk;
  readonly tell: (told: Told) => void;
  readonly #secrets: readonly HeldSecret[];
  readonly #rules: readonly HttpRuleTarget[];
  readonly #ask: Ask;
  readonly #askRequest: AskRequest | undefined;
  readonly #asked = new Map<string, Promise<Asked>>();
  /** All values that this run has had, by what commands have for them. */
  readonly #masks = new Map<string, string>();
  readonly #atEnd = new Set<() => void>();
  #hasEnded = false;

  constructor(
    desk: Desk,
    {
      secrets,
      rules,
      ask,
      askRequest,
      tell,
    }: {
      secrets: readonly HeldSecret[];
      rules: readonly HttpRuleTarget[];
      ask: Ask;
      /** undefined: what no rule allows is refused. */
      askRequest?: AskRequest | undefined;
      tell: (told: Told) => void;
    },
  ) {
    this.desk = desk;
    this.tell = tell;
    this.#secrets = secrets;
    this.#rules = rules;
    this.#ask = ask;
    this.#askRequest = askRequest;
    for (const { value, placeholder } of secrets) {
      if (value !== undefined) this.#masks.set(value, placeholder);
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls `act` when the run ends; returns what takes that back. */
  atEnd(act: () => void): () => void {
    this.#atEnd.add(act);
    return () => void this.#atEnd.delete(act);
  }

  end(): void {
    this.#hasEnded = true;
    for (const act of this.#atEnd) act();
    this.#atEnd.clear();
  }

  /** One question for all that wait. */
  async #valueOf({ name, placeholder, value }: HeldSecret): Promise<string> {
    if (value !== undefined) return value;
    const last = this.#asked.get(name);
    const kept = await last?.catch(() => undefined);
    const isOld = kept?.expiresMs !== undefined && kept.expiresMs <= Date.now();
    if (kept !== undefined && !isOld) return kept.value;
    if (this.#asked.get(name) === last) this.#asked.set(name, this.#ask(name));
    const asked = await (this.#asked.get(name) as Promise<Asked>);
    this.#masks.set(asked.value, placeholder);
    return asked.value;
  }

  async #ruled(method: string, request: Request, via: AskedRequest["via"]) {
    const verdict = ruled(method, request, this.#rules);
    if (verdict !== "refused" || this.#askRequest === undefined) return verdict;
    const { host, port, rawPath: path } = request;
    const isAllowed = await this.#askRequest({ host, port, via, method, path });
    return isAllowed ? { rule: kAsked } : "denied";
  }

  async decide(
    method: string,
    request: Request,
    via: AskedRequest["via"] = "transparent",
  ): Promise<Decision> {
    const verdict = judge(request, this.#secrets);
    if (verdict.kind === "misused") {
      const { secret, where } = verdict;
      const reason = `the placeholder of ${secret.name} is in ${where}, and is not for this place`;
      return refused(403, reason, secret.name, true);
    }
    const rule = await this.#ruled(method, request, via);
    if (rule === "denied") return refused(403, "onRequest denied it");
    if (rule === "refused") return refused(403, "no rule of its host allows it");
    if (verdict.kind === "unsupported") {
      return refused(403, verdict.reason, verdict.secret.name);
    }
    const values = new Map<RunSecret, string>();
    for (const secret of verdict.needs as HeldSecret[]) {
      try {
        values.set(secret, await this.#valueOf(secret));
      } catch {
        const reason = `the value of ${secret.name} can't be had at the moment`;
        return refused(502, reason, secret.name);
      }
    }
    const { headers, query, echoes } = substitute(request, values);
    return {
      kind: "send",
      headers,
      query,
      secret: [...values.keys()].map(({ name }) => name).join(",") || undefined,
      rule: rule === "none" ? undefined : rule.rule,
      masks: new Map([...this.#masks, ...echoes]),
    };
  }
}
