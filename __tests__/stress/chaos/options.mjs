// The command line of `npm run chaos`.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

export const kUsage = `Usage: npm run chaos -- [options]

  --minutes N      how long, default 10; a part of one will do
  --least-calls N  go on until each kind of runner has had N calls, and enough else has been done
                   (judge/enough.mjs); at most ten times as long
  --gigabytes N    also have commands of sessions fill that much, one at a time in each of two hosts
  --seed N         repeat the decisions of an earlier run, as far as timing allows
  --json FILE      also write what was counted to FILE
  --directory DIR  where to work, default a temporary directory
  --evidence DIR   where what each host did is kept after a fault, default build/evidence
  --plant-faults   leave something of everything behind: shows that it is found
  --plant-standstill  have a call that never settles: shows what is reported of it
  --as-user        as an ordinary user, where root calls
  --help           this text
`;

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0))
    throw new TypeError(`Expected --${name} to be a number above 0, got \`${text}\``);
  return value;
}

/** Throws a TypeError that explains a wrong option. */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "10" },
      "least-calls": { type: "string" },
      gigabytes: { type: "string" },
      seed: { type: "string", default: String(randomInt(1, 2 ** 31)) },
      json: { type: "string" },
      directory: { type: "string" },
      evidence: { type: "string" },
      "plant-faults": { type: "boolean", default: false },
      "plant-standstill": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  return {
    ...values,
    minutes: positive("minutes", values.minutes),
    leastCalls: values["least-calls"] ? positive("least-calls", values["least-calls"]) : 0,
    gigabytes: values.gigabytes ? positive("gigabytes", values.gigabytes) : 0,
    seed: positive("seed", values.seed),
    hasFaults: values["plant-faults"],
    hasStandstill: values["plant-standstill"],
  };
}
