/** Host files to mount, and runners that mount them. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeMount,
  type SandboxedExecResult,
} from "./package.js";
import { whyNoBindFd } from "./requirements.js";
import { tempDirectory } from "./temp.js";

/** Not /tmp, which is private inside. */
export const kPlace = "/var/tmp";

/** A tree of files in a new directory; names that end in "/" are directories. */
export function tree(files: Record<string, string> = {}): string {
  const root = tempDirectory("tree", kPlace);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    if (name.endsWith("/")) mkdirSync(join(root, name), { recursive: true });
    else writeFileSync(join(root, name), content);
  }
  return root;
}

type Choice = Partial<BubblewrapNativeRunnerOptions>;

export function mounting(mounts: readonly NativeMount[], options: Choice = {}) {
  const shadowDir = options.shadowDir ?? tempDirectory("work", kPlace);
  return new BubblewrapNativeRunner({ prewarm: 0, ...options, shadowDir, mounts });
}

const kDecoder = new TextDecoder();
const sh = (script: string) => ({ argv: ["sh", "-c", script] });

/** Runs a script in each of the ways in which a command gets a sandbox; what it prints. */
const kAllWays: [
  name: string,
  run: (mounts: readonly NativeMount[], script: string, options?: Choice) => Promise<string>,
][] = [
  [
    "a cold run",
    async (mounts, script, options) => {
      const { stdoutText } = await mounting(mounts, options).exec(sh(script));
      return stdoutText;
    },
  ],
  [
    "a prewarmed run",
    async (mounts, script, options) => {
      const runner = mounting(mounts, { ...options, prewarm: 1 });
      await runner.warm();
      const { stdoutText, audits } = await runner.exec(sh(script));
      await runner.close();
      return audits[0]?.prewarmed ? stdoutText : "the run was cold";
    },
  ],
  [
    "a session",
    async (mounts, script, options) => {
      await using session = await mounting(mounts, options).openSession();
      return (await session.exec(sh(script))).stdoutText;
    },
  ],
  [
    "a live process",
    async (mounts, script, options) => {
      await using process = await mounting(mounts, options).spawn(sh(script));
      let out = "";
      for await (const chunk of process.stdout) out += kDecoder.decode(chunk as Uint8Array);
      return out;
    },
  ],
  [
    "a batch",
    async (mounts, script, options) => {
      const results: SandboxedExecResult[] = await mounting(mounts, options).execBatch([
        sh(script),
      ]);
      return results.map(({ stdout }) => kDecoder.decode(stdout)).join("");
    },
  ],
];

/** Those that this bwrap has. */
export const kWays = kAllWays.filter(
  ([name]) => whyNoBindFd === undefined || name !== "a prewarmed run",
);
