/** How a run ended; shipped and re-exported like public.d.ts. */

import type { NativeLimits } from "./run.js";

/** How a run ended. The first cause wins. */
export type Outcome =
  | {
      /** The command ended by itself; `exitCode` is its own. */
      kind: "exited";
    }
  | {
      /** A signal ended the command; `exitCode` is 128 + its number. */
      kind: "signaled";
      /** Its name, such as "SIGSEGV". */
      signal: string;
    }
  | {
      /** The deadline passed; `exitCode` is 124. */
      kind: "timed-out";
    }
  | {
      /** `signal` was aborted; `exitCode` is 130. */
      kind: "aborted";
      /** The abort signal's `reason`, unchanged; absent if no signal was aborted. Not enumerable. */
      readonly reason?: unknown;
    }
  | {
      /** The program does not exist; `exitCode` is 127. */
      kind: "not-found";
    }
  | {
      /** The program can't be executed; `exitCode` is 126. */
      kind: "not-executable";
    }
  | {
      /** The sandbox could not be built and the command never ran; `exitCode` is 125. */
      kind: "setup-failed";
      /** The requirement that could not be met. */
      reason: string;
      /** How the operator can fix it. */
      fix?: string;
    }
  | {
      /** A resource limit ended the command; `exitCode` is 128 + the signal's number, or 137. */
      kind: "limit-exceeded";
      /** The limit that was exceeded; "secret": a placeholder went where its value may not (`onMisuse: "end"`). */
      limit: keyof NativeLimits | "secret";
    }
  | {
      /** The `lease` was not renewed in time, or had expired before the start; `exitCode` is 137. */
      kind: "lease-expired";
    }
  | {
      /**
       * Only from `RemoteNativeRunner`: the run's worker, or the connection to it, was lost, so how the run
       * ended is unknown; `exitCode` is 125. The run was not started a second time and will not be.
       */
      kind: "lost";
      /** Tells if the command was started; "yes" and "no" are certain. */
      started: "yes" | "no" | "unknown";
      /**
       * "proved": the worker reported that no process of the run remains. "unproved": no such report arrived.
       * Its lease has expired in any case, after which its launcher has killed the run, unless that machine
       * itself was stopped meanwhile.
       */
      ended: "proved" | "unproved";
      /** Describes the loss, as a clause. */
      reason: string;
    }
  | {
      /**
       * Only from `RemoteNativeRunner`: no worker had a free slot within `queueTimeoutMs`; the command is not
       * started, and `exitCode` is 125.
       */
      kind: "queue-timeout";
      /** The missing resource, as a clause. */
      reason: string;
    };
