/** How a run ended; shipped and re-exported as public.d.ts is. */

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
      /** The signal's own `reason`, as it is; absent where no signal was. Not enumerable. */
      readonly reason?: unknown;
    }
  | {
      /** There is no such program; `exitCode` is 127. */
      kind: "not-found";
    }
  | {
      /** The program can't be executed; `exitCode` is 126. */
      kind: "not-executable";
    }
  | {
      /** The sandbox could not be built and the command never ran; `exitCode` is 125. */
      kind: "setup-failed";
      /** What could not be had. */
      reason: string;
      /** What the operator can do about it. */
      fix?: string;
    }
  | {
      /** A resource limit ended the command; `exitCode` is 128 + the signal's number, or 137. */
      kind: "limit-exceeded";
      /** Which. */
      limit: keyof NativeLimits;
    }
  | {
      /** Nobody renewed its `lease` in time, or it had expired before; `exitCode` is 137. */
      kind: "lease-expired";
    }
  | {
      /**
       * Of `RemoteNativeRunner`: how it ended is not known, since its worker, or the way to it, was lost;
       * `exitCode` is 125. It was not started a second time, and will not be.
       */
      kind: "lost";
      /** Whether its command was started: "no" and "yes" are known. */
      started: "yes" | "no" | "unknown";
      /**
       * "proved": its worker has said that nothing of it runs. "unproved": nobody has. Its lease has expired all the
       * same, after which its launcher has killed it, unless that machine itself was stopped meanwhile.
       */
      ended: "proved" | "unproved";
      /** What was lost, as a clause. */
      reason: string;
    }
  | {
      /** Of `RemoteNativeRunner`: no worker had a slot within `queueTimeoutMs`, and none is started; `exitCode` is 125. */
      kind: "queue-timeout";
      /** What was missing, as a clause. */
      reason: string;
    };
