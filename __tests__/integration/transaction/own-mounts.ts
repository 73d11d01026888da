/** A host process with mounts of its own, which are gone with it. */

import { spawnSync } from "node:child_process";

import { kNodeInside } from "../support/node-arguments.js";
import { isRoot, plainEnvironment } from "../support/requirements.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

/** What each script finds. `failure` is what a promise rejects with, as plain data. */
const kPrelude = `
  const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
  const fs = await import("node:fs");
  const { join, dirname } = await import("node:path");
  const sh = async (runner, script) => {
    const { exitCode, outcome, stdoutText, stderrText } = await runner.exec({ argv: ["sh", "-c", script] });
    return { exitCode, kind: outcome.kind, out: stdoutText.trim(), err: stderrText.trim() };
  };
  const failure = (promise) => promise.then(() => undefined, ({ name, code, message, paths }) => ({ name, code, message, paths }));
  const pathsOf = (changes) => changes.map(({ kind, path }) => kind + " " + path);
`;

/**
 * What a script gives with \`tell(value)\`, as JSON.
 * @param mounts shell commands that mount what it needs; "true" for nothing.
 * @param before words that it is started with, such as those that make it another user's.
 */
export function toldUnderMounts<Reported>(
  mounts: string,
  script: string,
  before: readonly string[] = [],
): Reported {
  const source = `${kPrelude}\nconst tell = (value) => console.log(JSON.stringify(value));\n${script}`;
  const words = [...before, ...kNodeInside, "--input-type=module", "-e", source];
  const unshare = [isRoot ? "-m" : "-rm", "sh", "-ec", `${mounts}; exec "$@"`, "sh", ...words];
  const { stdout, stderr, status } = spawnSync("unshare", unshare, {
    encoding: "utf8",
    env: plainEnvironment(),
    timeout: 120_000,
  });
  if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as Reported;
}
