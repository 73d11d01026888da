// What hosts say of sandboxes that stand ready for them.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { leftovers } from "./common.mjs";

/** Gives them ten seconds; what is still there then. */
export async function waitUntilGone() {
  for (let left = 1000; left > 0 && leftovers().length > 0; left -= 1) {
    globalThis.gc();
    await delay(10);
  }
  return leftovers();
}

/** Clock ticks that this process has used. */
function ticksOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** How many processes stand, what each uses in half a second, and what is left once they are given up. */
export async function costUntilGone() {
  const standing = leftovers().map((stat) => Number.parseInt(stat, 10));
  const before = standing.map(ticksOf);
  await delay(500);
  const after = standing.map(ticksOf);
  const left = await waitUntilGone();
  return { standing: standing.length, used: after.map((ticks, i) => ticks - before[i]), left };
}
