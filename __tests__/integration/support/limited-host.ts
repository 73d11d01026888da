/** A host process in namespaces of its own, in which something is hidden or forbidden as in containers. */

import { spawnSync } from "node:child_process";

import { kNodeInside } from "./node-arguments.js";
import { isRoot, plainEnvironment } from "./requirements.js";
import { tempDirectory } from "./temp.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

/** What each script finds: `told(outcome)` makes it plain data; `plain(words)` runs a program. */
const kPrelude = `
  const { Bwrap, BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
  const fs = await import("node:fs");
  const { spawnSync } = await import("node:child_process");
  const plain = (...words) => {
    const { status, stderr } = spawnSync(words[0], words.slice(1), { encoding: "utf8" });
    return { status, stderr: stderr.trim() };
  };
  const exec = async (runner, ...argv) => {
    const { outcome, exitCode, stdoutText, stderrText, audits } = await runner.exec({ argv });
    return { outcome, exitCode, out: stdoutText.trim(), err: stderrText.trim(), layers: audits[0]?.layers ?? [] };
  };
  const failure = (promise) => promise.then(() => undefined, ({ code, message, fix }) => ({ code, message, fix }));
  const tell = (value) => console.log(JSON.stringify(value));
`;

/** An empty command in bwrap, with what every program here needs and \`flags\`. */
export const plainBwrap = (...flags: string[]): string[] => [
  "bwrap",
  "--unshare-all",
  "--unshare-user",
  "--ro-bind",
  "/",
  "/",
  ...flags,
  "true",
];

export type Answer = {
  outcome: { kind: string; reason?: string; fix?: string };
  exitCode: number;
  out: string;
  err: string;
  layers: string[];
};
export type Failure = { code: string; message: string; fix?: string };

type Limited = {
  /** Shell commands that limit the host, with a /proc of its own. */
  before: string;
  /** Awaits at its top level; calls `tell(value)` once. */
  script: string;
  /** In a user namespace of its own even as root. */
  ownUsers?: boolean;
  /** Words that the process is started with. */
  words?: readonly string[];
};

/** What the script tells, as JSON; `workspace` is a directory made for it. */
export function toldByLimitedHost<Told>(limited: Limited): Told {
  const { before, script, ownUsers = false, words = [] } = limited;
  const workspace = JSON.stringify(tempDirectory("limited", "/var/tmp"));
  const source = `${kPrelude}\nconst workspace = ${workspace};\n${script}`;
  const node = [...words, ...kNodeInside, "--input-type=module", "-e", source];
  const namespaces = [isRoot && !ownUsers ? "-mpn" : "-Urmpn", "--fork", "--mount-proc"];
  const { stdout, stderr, status } = spawnSync(
    "unshare",
    [...namespaces, "sh", "-ec", `${before}\nexec "$@"`, "sh", ...node],
    { encoding: "utf8", env: plainEnvironment(), timeout: 120_000 },
  );
  if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as Told;
}

/** Why no such host can be made here; undefined where one can. */
export const whyNoLimitedHost = (() => {
  const tried = spawnSync("unshare", ["-Urmpn", "--fork", "--mount-proc", "true"], {
    encoding: "utf8",
    env: plainEnvironment(),
  });
  if (tried.status === 0) return undefined;
  return `unshare makes no namespaces here: ${tried.stderr?.trim() || tried.error?.message}`;
})();
