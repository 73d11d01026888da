// What each wall around a WASM skill costs.

import { hostCpu, runTime } from "./measures.mjs";

const kBytes = 5;

export const skill = {
  name: "skill",
  work:
    "a WASM skill that copies 5 bytes, by the built-in engine, warm, one call at a time: untrusted, " +
    "against the same process started bare, verified in a supervised process, and in a worker",
  variants: ["skillSandboxed", "skillNode", "skillProcess", "skillWorker"],
  sizes: { full: { rounds: 20, runs: 15 }, quick: { rounds: 3, runs: 5 } },
  request: { argv: ["skill"], expected: { kept: kBytes, written: kBytes }, atOnce: 1 },
  measures: [{ ...runTime, bars: { skillNode: { atMost: 3, aim: 1.5 } } }, hostCpu],
};
