/** Host programs in processes of their own, which are killed, or have a file system of their own. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { kNodeInside } from "../../integration/support/node-arguments.js";
import { plainEnvironment } from "../../integration/support/requirements.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

export type HostProgram = {
  process: ChildProcess;
  ended: Promise<{ code: number | null; out: string; err: string }>;
};

/**
 * Runs JavaScript that has the package's exports as `package`, and what it was given as `given`;
 * `before` is put in front of its command line.
 */
export function startProgram(
  script: string,
  given: object,
  before: readonly string[] = [],
): HostProgram {
  const whole = `
    const given = ${JSON.stringify(given)};
    const api = await import(${JSON.stringify(kDist)});
    ${script}`;
  const words = [...before, ...kNodeInside, "--input-type=module", "-e", whole];
  const [program = "", ...args] = words;
  const process = spawn(program, args, {
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  process.stdout?.on("data", (chunk) => {
    out += String(chunk);
  });
  process.stderr?.on("data", (chunk) => {
    err += String(chunk);
  });
  const ended = once(process, "close").then(([code]) => ({ code, out, err }));
  return { process, ended };
}
