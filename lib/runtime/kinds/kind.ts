/** What the runtimes differ in: how a runner is made, and what its policy lets through. Pure. */

import type { BubblewrapNetwork, InTransaction, RunnerOptions } from "../../../types/public.js";
import type { RuntimeConfig } from "../config/config.js";
import type { HostFacts } from "../diagnosis/facts.js";
import type { Mount } from "../mounts.js";
import type { RuntimeName } from "../names.js";
import type { RuntimeRunner } from "../runtime.js";

/** What a policy grants beyond the workspace, so that the canary must not take it for an escape. */
export type Grants = {
  /** Host paths that may be read. */
  readable: readonly string[];
  /** Host paths that may be written. */
  writable: readonly string[];
  /** The host's network. */
  network: boolean;
};

/** One kind of runtime. */
export type RuntimeKind = {
  readonly name: RuntimeName;
  /** As it is written for people. */
  readonly title: string;
  /** The package that has its program; undefined where it needs none. */
  readonly program?: string;
  /** Whether it can have a network by domain; without that such a configuration is refused. */
  readonly byDomain?: true;
  /** The network that it gives. */
  network(config: RuntimeConfig): BubblewrapNetwork;
  /** The part of the configuration that decides how it works; equal policies are proved once. */
  policy(config: RuntimeConfig): unknown;
  /** Undefined for a runtime that confines nothing. */
  grants(config: RuntimeConfig): Grants | undefined;
  /** @throws TypeError for mounts, or a transaction, that it can't have. */
  makeRunner(
    config: RuntimeConfig,
    options: RunnerOptions & InTransaction,
    mounts: readonly Mount[],
  ): RuntimeRunner;
  /** What to do about a run that could not be set up. */
  fix?(reason: string, facts: HostFacts, config: RuntimeConfig): string | undefined;
};
