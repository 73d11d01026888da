/** The public types of `@openagentic/native-runner/remote`; shipped and re-exported like public.d.ts. */

import type { BubblewrapNativeRunnerOptions } from "../runner-options.js";

/** Credentials of a caller or worker at the broker. */
export type RemoteCredentials =
  | {
      /** User name at the broker. */
      user: string;
      /** Password at the broker. */
      password: string;
    }
  | { /** A token that the broker knows. */ token: string }
  | { /** The seed of an nkey ("SU…"); secret. */ nkeySeed: string }
  | {
      /** Path of a file with such a seed, or of a file that `nsc` created (".creds"). */ file: string;
    };

/** TLS of the connection to the broker; each field is PEM text. */
export type RemoteTls = {
  /**
   * Certificates of the authorities that may have signed the broker's certificate. Default: those of Node.
   */
  ca?: string | undefined;
  /** The client certificate, if the broker requires one. */
  cert?: string | undefined;
  /** The private key of the client certificate. */
  key?: string | undefined;
};

/** The workspace of remote commands. */
export type RemoteWorkspace =
  /** A path that also exists on the worker, below its `--workspaces`; no files are transferred. */
  | string
  | {
      /**
       * A directory of this machine. Before a command, the files that the worker lacks are sent to it;
       * afterwards, the changes of the command are brought back, completely or not at all.
       */
      directory: string;
      /**
       * Paths that code on this host runs on its own (`.git/hooks`, `.envrc` …) and that runs may change
       * nevertheless, with everything below them. Default none: through such paths, the operator of a worker
       * could run code on this host.
       */
      allowProtected?: readonly string[] | undefined;
      /** Directory of the transactions that bring changes back. Default: the user's state directory. */
      transactions?: string | undefined;
      /** The backend of these transactions, as in `openTransaction`. Default "auto". */
      backend?: "auto" | "overlay" | "copy" | undefined;
      /** Maximum number of entries in the directory. Default 1,000,000. */
      maxEntries?: number | undefined;
      /** Maximum size of its files in bytes. Default 16 GiB. */
      maxBytes?: number | undefined;
    };

/**
 * Options of {@link BubblewrapNativeRunner} that a caller may request; the worker's policy may restrict them
 * to narrower values.
 */
export type RemotePolicyOptions = Pick<
  BubblewrapNativeRunnerOptions,
  | "roBinds"
  | "mounts"
  | "devices"
  | "home"
  | "tools"
  | "caches"
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
  /** The pool of workers: the value of `native-runner worker --pool` on the workers. */
  pool: string;
  /**
   * The tenant that runs are started for; the broker's permissions tie it to the credentials. Default
   * "default".
   */
  tenant?: string | undefined;
  /** The workspace of the commands. */
  workspace: RemoteWorkspace;
  /** Credentials for the broker; required unless `insecure` is set. */
  credentials?: RemoteCredentials | undefined;
  /**
   * TLS options; unless `insecure` is set, TLS is required, by this or by a "tls://" address in `servers`.
   */
  tls?: RemoteTls | undefined;
  /** Uses neither TLS nor credentials; only for a broker on this machine's loopback. Default false. */
  insecure?: boolean | undefined;
  /**
   * Milliseconds that a run may wait for a worker's slot, > 0. Default 60 000; `Infinity` = without limit.
   */
  queueTimeoutMs?: number | undefined;
};

/** The runs of a pool that this process has asked for, by all runners of the same broker, credentials and tenant. */
export type RemoteQueue = {
  /** Runs that wait for a slot; also while there is no worker, or no connection. */
  waiting: number;
  /** Milliseconds since the first of these was asked for; 0 if none waits. */
  longestWaitMs: number;
  /** Runs, open sessions and open transactions that a worker has. */
  granted: number;
  /** True while there is a connection to the broker. */
  isConnected: boolean;
};
