// `native-runner run` as a part of a pipe.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

import { bursts } from "../bursts.mjs";
import { runTime } from "./scenario.mjs";

export const scenarios = [
  {
    name: "run-pipe",
    work: "10 GiB of zeros through `native-runner run -- cat` in a pipe, and through `cat` in the same pipe",
    variants: ["pipedRun", "pipedCat"],
    sizes: { full: { rounds: 6, runs: 1 }, quick: { rounds: 2, runs: 1 } },
    request: {},
    measures: [{ ...runTime, bars: { pipedCat: { atMost: 1.25, aim: 1.1 } } }],
  },
];

const kRun = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** Measures a shell's pipe with `part` in its middle. */
const openPipe = (part) => async () => ({
  burst: bursts(async () => {
    const line = `head -c 10G /dev/zero | ${part} | wc -c`;
    const from = performance.now();
    const shell = spawn("sh", ["-c", line, process.execPath, kRun], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    shell.stdout.on("data", (chunk) => {
      text += chunk;
    });
    await once(shell, "close");
    if (Number(text) !== 10 * 2 ** 30) throw new Error(`${line}: ${text}`);
    return performance.now() - from;
  }),
});

export const variants = {
  pipedRun: {
    title: "run -- cat",
    kind: "ours",
    open: openPipe('"$0" "$1" run --timeout 10m -- cat'),
  },
  pipedCat: { title: "cat", kind: "floor", open: openPipe("cat") },
};
