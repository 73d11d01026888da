// As root too: each promise holds for root.
/** The table of promises again, each try a command of a session that has run another before. */

import { describe, expect } from "vitest";
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  type NativeExecInput,
  type NativeRunner,
  type NativeSession,
  type SandboxedExecResult,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { describeRuntime } from "../support/runtimes.js";
import { describePromises } from "./promise-table.js";

type Opens = { openSession(options: { shell: boolean }): Promise<NativeSession> };

/** Each run in a session of its own, where it is the second command. */
class SessionRunner implements NativeRunner {
  readonly #runner: Opens;
  readonly #shell: boolean;

  constructor(runner: Opens, shell: boolean) {
    this.#runner = runner;
    this.#shell = shell;
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    await using session = await this.#runner.openSession({ shell: this.#shell });
    const first = await session.exec({ argv: ["sh", "-c", "exit 3"] });
    expect(first).toMatchObject({ outcome: { kind: "exited" }, exitCode: 3 });
    return await session.exec(input);
  }
}

for (const shell of [false, true]) {
  const title = shell ? "shell session" : "session";
  describePromises(
    "bubblewrap",
    (options) => new SessionRunner(new BubblewrapNativeRunner(options), shell),
    (_, body) => describeSandboxed(`${title}, bubblewrap`, body),
  );
  describePromises(
    "landlock",
    ({ roBinds, ...options }) =>
      new SessionRunner(new LandlockNativeRunner({ ...options, fsReadDirs: roBinds }), shell),
    (_, body) => describeRuntime("landlock", () => describe(title, body)),
    // It has a /proc of its own, by which its commands' ends are proved.
    ["sees that a host process is there", "shares the host's mnt namespace"],
  );
}
