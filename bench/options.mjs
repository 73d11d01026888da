// The command line of `npm run bench`.

import { parseArgs } from "node:util";

import { kScenarios } from "./scenarios/index.mjs";

const kNames = kScenarios.map(({ name }) => name).join(", ");

export const kUsage = `Usage: npm run bench -- [options]

  --quick        few samples: shows that the suite works, not a result
  --only NAME    one scenario only, may be repeated: ${kNames}
  --json FILE    also write all numbers to FILE
  --strict       exit with 1 when a bar is missed
  --help         this text
`;

/** Throws a TypeError that explains a wrong option. */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  for (const name of values.only) {
    if (!kScenarios.some((scenario) => scenario.name === name)) {
      throw new TypeError(`Expected --only to be one of ${kNames}, got \`${name}\``);
    }
  }
  return values;
}

export function chosenScenarios(options) {
  if (options.only.length === 0) return kScenarios;
  return kScenarios.filter(({ name }) => options.only.includes(name));
}
