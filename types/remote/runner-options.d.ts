/** The public types of `@openagentic/native-runner/remote`; shipped and re-exported as public.d.ts is. */

import type { BubblewrapNativeRunnerOptions } from "../runner-options.js";

/** How a caller or worker shows the broker who it is. */
export type RemoteCredentials =
  | { /** Its name at the broker. */ user: string /** Its password there. */; password: string }
  | { /** A token that the broker knows. */ token: string }
  | { /** The seed of an nkey ("SU…"), a secret. */ nkeySeed: string }
  | {
      /** Path of a file with such a seed, or of one that `nsc` has made (".creds"). */ file: string;
    };

/** TLS on the way to the broker; each a text in PEM. */
export type RemoteTls = {
  /** Certificates of the authorities that may have signed the broker's. Default: those of Node. */
  ca?: string | undefined;
  /** A certificate of our own, where the broker asks for one. */
  cert?: string | undefined;
  /** Its key. */
  key?: string | undefined;
};

/** Where commands work. */
export type RemoteWorkspace =
  /** A path that the worker has too, below its `--workspaces`; nothing is moved. */
  | string
  | {
      /**
       * A directory of this machine: what the worker lacks of it goes there before a command, and what the command
       * changed comes back, whole or not at all.
       */
      directory: string;
      /**
       * Paths that code on this host runs by itself (`.git/hooks`, `.envrc` …) and that runs may change all the same,
       * with all below them. Default none: who controls a worker could run code here by them.
       */
      allowProtected?: readonly string[] | undefined;
      /** Where the transactions are kept by which changes come back. Default: the user's state directory. */
      transactions?: string | undefined;
      /** How these are made, as `backend` of `openTransaction`. Default "auto". */
      backend?: "auto" | "overlay" | "copy" | undefined;
      /** The most entries that it may have. Default 1,000,000. */
      maxEntries?: number | undefined;
      /** The most bytes that its files may have. Default 16 GiB. */
      maxBytes?: number | undefined;
    };

/** Options of {@link BubblewrapNativeRunner} that may be asked for; the worker's policy may let them narrow only. */
export type RemotePolicyOptions = Pick<
  BubblewrapNativeRunnerOptions,
  | "roBinds"
  | "mounts"
  | "network"
  | "isolation"
  | "envPolicy"
  | "devBind"
  | "procBind"
  | "allowWriteWorkspace"
  | "layers"
  | "required"
>;

/** Options of `RemoteNativeRunner`. */
export type RemoteNativeRunnerOptions = RemotePolicyOptions & {
  /** Addresses of the broker, such as "tls://nats.example.org:4222". */
  servers: readonly string[];
  /** The pool of workers: what `native-runner worker --pool` says there. */
  pool: string;
  /** On whose behalf; the broker's permissions tie it to the credentials. Default "default". */
  tenant?: string | undefined;
  /** Where commands work. */
  workspace: RemoteWorkspace;
  /** Who we are for the broker; a must without `insecure`. */
  credentials?: RemoteCredentials | undefined;
  /** TLS; a must without `insecure`, by this or by a "tls://" in `servers`. */
  tls?: RemoteTls | undefined;
  /** Neither TLS nor credentials, for a broker on this machine's loopback alone. Default false. */
  insecure?: boolean | undefined;
  /** Milliseconds that a run may wait for a slot of a worker, > 0. Default 60 000; `Infinity` = as long as it takes. */
  queueTimeoutMs?: number | undefined;
};
