// The command line of `npm run chaos`.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

export const kUsage = `Usage: npm run chaos -- [options]

  --minutes N      how long, default 10; a part of one will do
  --seed N         repeat the decisions of an earlier run, as far as timing allows
  --json FILE      also write what was counted to FILE
  --directory DIR  where to work; kept after a fault, default a temporary directory
  --plant-faults   leave something of everything behind: shows that it is found
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
      seed: { type: "string", default: String(randomInt(1, 2 ** 31)) },
      json: { type: "string" },
      directory: { type: "string" },
      "plant-faults": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  return {
    ...values,
    minutes: positive("minutes", values.minutes),
    seed: positive("seed", values.seed),
    hasFaults: values["plant-faults"],
  };
}
