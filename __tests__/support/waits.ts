/**
 * How tests wait: for what is to happen, by `eventually` or by Vitest's expect.poll, whose bound is kHungMs too
 * (vitest.config.ts); and kQuietMs where nothing is to happen. A time that a test is about, a deadline or a lease, is its own.
 */

import { setTimeout as delay } from "node:timers/promises";

/** What has not come by then hangs. Generous, for loaded machines and slow disks: how long something takes is not tested by it. */
export const kHungMs = 60_000;

/** How long a test looks on to show that nothing happens; what could happen would take some milliseconds. */
export const kQuietMs = 500;

/**
 * A deadline for a command that has to have begun, and to have written or done something, when it strikes. For loaded machines: on
 * an idle one a command begins within some milliseconds.
 */
export const kBegunMs = 3_000;

const kPollMs = 10;

type Truthy<T> = Exclude<T, false | 0 | "" | null | undefined>;

/**
 * Waits until `check` gives something that is true, which it returns.
 * @param what said when that is in vain: what was waited for, or a function that tells it then.
 */
export async function eventually<T>(
  what: string | (() => string),
  check: () => T | Promise<T>,
): Promise<Truthy<T>> {
  const begun = performance.now();
  for (;;) {
    const found = await check();
    if (found) return found as Truthy<T>;
    if (performance.now() - begun > kHungMs) break;
    await delay(kPollMs);
  }
  throw new Error(`waited in vain until ${typeof what === "string" ? what : what()}`);
}
