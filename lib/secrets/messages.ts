/** What the terminator's thread and the thread that started it say to each other. */

import type { HttpRequestRecord, NetworkRequest } from "../../types/network.js";
import type { RunSecret } from "./substitution.js";
import type { HttpRuleTarget } from "./target.js";

/** A secret of a run, with its value unless that has to be asked for. */
export type HeldSecret = RunSecret & { value: string | undefined };

/** A request, and whether a placeholder in it went where it must not. */
export type Told = { record: HttpRequestRecord; isMisuse: boolean };

/** A request that no rule of its host allows. */
export type AskedRequest = Required<
  Pick<NetworkRequest, "host" | "port" | "via" | "method" | "path">
>;

export type ToTerminator =
  /** `roots`: PEM texts by which servers are verified, besides Node's. */
  | { kind: "runner"; runner: number; roots: readonly string[] }
  | { kind: "forget"; runner: number }
  | {
      kind: "begin";
      run: number;
      runner: number;
      secrets: readonly HeldSecret[];
      rules: readonly HttpRuleTarget[];
      /** Requests that no rule allows are asked about. */
      asks: boolean;
    }
  /** Everything that is known of the run's requests is to be told. With `ends` no other is served. */
  | { kind: "flush"; run: number; flush: number; ends: boolean }
  | { kind: "value"; question: number; value: string; expiresMs: number | undefined }
  | { kind: "noValue"; question: number }
  | { kind: "verdict"; question: number; isAllowed: boolean };

export type FromTerminator =
  | { kind: "authority"; runner: number; pem: string }
  | { kind: "failed"; runner: number; reason: string }
  | { kind: "told"; run: number; told: Told[] }
  | { kind: "flushed"; flush: number }
  | { kind: "ask"; run: number; name: string; question: number }
  /** Asks if a request may be made that no rule allows. */
  | { kind: "askRequest"; run: number; request: AskedRequest; question: number };
