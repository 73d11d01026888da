/** A host of ../hosts/network/run-scenario.mjs, in a network of its own where a.test, b.test and c.test lead to it. */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

import { kNodeInside } from "../support/node-arguments.js";
import { plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { inOwnNetwork } from "./own-network.js";

const file = (name: string) => fileURLToPath(new URL(`../hosts/network/${name}`, import.meta.url));
const folder = tempDirectory("names");
const config = join(folder, "config.json");
writeFileSync(
  config,
  JSON.stringify({
    runtimeType: "bubblewrap",
    network: { allow: [], allowPrivate: ["127.0.0.0/8"] },
  }),
);

/** Runs a scenario of a host in a network of its own; what it says. */
export async function scenario<Said>(name: string): Promise<Said> {
  const own = inOwnNetwork({ here: { "127.0.0.1": ["a.test", "b.test", "c.test"] } });
  const node = [...kNodeInside, "--expose-gc", file("run-scenario.mjs"), name];
  const [command = "", ...args] = [...own, ...node];
  const child = spawn(command, args, {
    env: { ...plainEnvironment(), CONFIG: config, STATE: tempDirectory("state") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on("close", resolve)),
  ]);
  expect({ err, code }).toEqual({ err: "", code: 0 });
  return JSON.parse(out);
}
