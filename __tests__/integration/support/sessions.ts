/** The runners that have sessions; a suite for each. */

import { existsSync } from "node:fs";

import type { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  type NativeExecInput,
  type NativeSession,
  type SessionOptions,
} from "./package.js";
import { describeUnless, whyNoBubblewrap } from "./requirements.js";
import { run } from "./results.js";
import { whyNo } from "./runtimes.js";
import { tempDirectory } from "./temp.js";

export type SessionMaker = {
  name: "bubblewrap" | "landlock" | "remote";
  /** Why it can't be had here; undefined when it can. */
  reason: string | undefined;
  /** The process whose children the sandboxes are. */
  host(): number;
  /** Where commands see the workspace. */
  inside(workspace: string): string;
  runner(shadowDir: string): BubblewrapNativeRunner | LandlockNativeRunner | RemoteNativeRunner;
  /** A session in a new workspace, unless one is given. */
  open(options?: SessionOptions, shadowDir?: string): Promise<NativeSession>;
};

const kBubblewrap = (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir, prewarm: 0 });
/** With /proc, so that commands can look for one another. */
const kReadable = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/tmp"].filter(existsSync);
const kLandlock = (shadowDir: string) =>
  new LandlockNativeRunner({ shadowDir, fsReadDirs: kReadable });

/** remote/support/remote-rows.ts puts another in their place. */
export const kSessionMakers: SessionMaker[] = [
  {
    name: "bubblewrap",
    reason: whyNoBubblewrap,
    host: () => process.pid,
    inside: () => "/workspace",
    runner: kBubblewrap,
    open: (options, shadowDir = tempDirectory()) => kBubblewrap(shadowDir).openSession(options),
  },
  {
    name: "landlock",
    reason: whyNo("landlock"),
    host: () => process.pid,
    inside: (workspace) => workspace,
    runner: kLandlock,
    open: (options, shadowDir = tempDirectory()) => kLandlock(shadowDir).openSession(options),
  },
];

/** One suite for each runner that can be had here. */
export function describeSessions(title: string, body: (maker: SessionMaker) => void): void {
  for (const maker of kSessionMakers) {
    describeUnless(maker.reason, `${title}, ${maker.name}`, () => body(maker));
  }
}

/** Each call names a HOME: a login shell can't read that of root under Landlock. */
export type Shell = (script: string, input?: Partial<NativeExecInput>) => ReturnType<typeof run>;

/** Runs scripts as `words` with a script behind them. */
export const shellOf =
  (session: NativeSession, ...words: string[]): Shell =>
  (script, input) =>
    run(session, [...words, script], { ...input, env: { HOME: "/", ...input?.env } });
