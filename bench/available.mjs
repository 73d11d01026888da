// Which variants can't run here, and why. Ours must run; another tool is tried once, since having it
// does not say that it works: for this user, in this container, on this kernel.

import { openVariant } from "./measure.mjs";
import { kVariants, whyMissing } from "./variants/index.mjs";

const firstLine = (text) => text.trim().split("\n", 1)[0];

async function whyBroken(name, setup) {
  try {
    const variant = await openVariant(name, setup);
    try {
      const { exitCode, stderr } = await variant.tell(["/bin/true"]);
      return exitCode === 0 ? undefined : `does not work here: ${firstLine(stderr)}`;
    } finally {
      await variant.close();
    }
  } catch (error) {
    return `does not work here: ${firstLine(String(error.message))}`;
  }
}

/** Resolves to a Map from the names of the scenarios' variants that can't run to the reasons. */
export async function findMissing(scenarios, setup) {
  const names = new Set(scenarios.flatMap(({ variants }) => variants));
  const reasons = new Map();
  for (const name of names) {
    const { kind, startsNothing } = kVariants[name];
    const isTried = kind === "peer" && startsNothing !== true;
    const why = (await whyMissing(name)) ?? (isTried ? await whyBroken(name, setup) : undefined);
    if (why !== undefined) reasons.set(name, why);
  }
  return reasons;
}
