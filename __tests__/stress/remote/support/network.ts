/**
 * Two network namespaces with a cable between them, which can be pulled. They are the test's own: nothing of this
 * machine's network is touched. Root's alone.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const kRelay = fileURLToPath(new URL("../hosts/relay.mjs", import.meta.url));
const kNear = "192.0.2.1";
const kFar = "192.0.2.2";

function ip(...words: string[]): { isDone: boolean; said: string } {
  const { status, stderr, error } = spawnSync("ip", words, { encoding: "utf8" });
  return { isDone: status === 0, said: error?.message ?? stderr ?? "" };
}

function mustIp(...words: string[]): void {
  const { isDone, said } = ip(...words);
  if (!isDone) throw new Error(`ip ${words.join(" ")}: ${said}`);
}

function whyNot(): string | undefined {
  const name = `nr-probe-${process.pid}`;
  const { isDone, said } = ip("netns", "add", name);
  if (!isDone) return `there can be no network namespace: ${said.trim()}`;
  ip("netns", "delete", name);
  return undefined;
}

/** Why there can be none here; undefined when there can. */
export const whyNoCable = whyNot();

let cables = 0;
const made: string[] = [];
afterAll(() => {
  for (const name of made.splice(0)) ip("netns", "delete", name);
});

export class Cable {
  readonly #near: string;
  readonly #far: string;

  constructor() {
    const name = `nr-${process.pid}-${++cables}`;
    this.#near = `${name}-near`;
    this.#far = `${name}-far`;
    for (const space of [this.#near, this.#far]) {
      mustIp("netns", "add", space);
      made.push(space);
      mustIp("-n", space, "link", "set", "lo", "up");
    }
    const pair = ["type", "veth", "peer", "cable", "netns", this.#far];
    mustIp("-n", this.#near, "link", "add", "cable", ...pair);
    mustIp("-n", this.#near, "address", "add", `${kNear}/30`, "dev", "cable");
    mustIp("-n", this.#far, "address", "add", `${kFar}/30`, "dev", "cable");
    for (const space of [this.#near, this.#far]) mustIp("-n", space, "link", "set", "cable", "up");
  }

  /** Before the command line of what is to be at the near end, or at the far one. */
  readonly near = (): string[] => ["ip", "netns", "exec", this.#near];
  readonly far = (): string[] => ["ip", "netns", "exec", this.#far];

  /** The command line of what makes a port of the near end one of the far end's loopback. */
  relay(port: number): string[] {
    return [...this.far(), process.execPath, kRelay, String(port), kNear];
  }

  pull(): void {
    mustIp("-n", this.#near, "link", "set", "cable", "down");
  }

  plug(): void {
    mustIp("-n", this.#near, "link", "set", "cable", "up");
  }
}
