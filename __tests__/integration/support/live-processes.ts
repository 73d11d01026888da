/** Runners that a live process is tried with, and what one reads of it. */

import type { Readable } from "node:stream";
import { expect } from "vitest";

import type { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { kHungMs } from "../../support/waits.js";
import {
  BubblewrapNativeRunner,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  type NativeSpawnInput,
  type SandboxProcess,
} from "./package.js";
import { whyNo } from "./runtimes.js";

type Make = (
  shadowDir: string,
) =>
  | BubblewrapNativeRunner
  | LandlockNativeRunner
  | FirejailNativeRunner
  | LocalNativeRunner
  | RemoteNativeRunner;

type Row = [name: string, reason: string | undefined, make: Make];

/** With why each can't be had here, if so; remote/support/remote-rows.ts puts others in their place. */
export const kLiveRunners: [Row, ...Row[]] = [
  [
    "bubblewrap",
    whyNo("bubblewrap"),
    (shadowDir) => new BubblewrapNativeRunner({ shadowDir, prewarm: 0 }),
  ],
  ["landlock", whyNo("landlock"), (shadowDir) => new LandlockNativeRunner({ shadowDir })],
  ["firejail", whyNo("firejail"), (shadowDir) => new FirejailNativeRunner({ shadowDir })],
  ["local", undefined, (shadowDir) => new LocalNativeRunner({ shadowDir })],
];

type Spawns = { spawn(input: NativeSpawnInput): Promise<SandboxProcess> };

/** Starts a command, or a shell script when it is a string. */
export function spawn(
  runner: Spawns,
  command: string | readonly string[],
  input: Partial<NativeSpawnInput> = {},
): Promise<SandboxProcess> {
  const argv = typeof command === "string" ? ["sh", "-c", command] : [...command];
  return runner.spawn({ argv, ...input });
}

/** All of a stream, as text. */
export async function whole(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** What a stream has shown so far. */
export class Screen {
  text = "";
  #from = 0;
  readonly #changed = new Set<() => void>();

  constructor(stream: Readable) {
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      this.text += chunk;
      for (const call of this.#changed) call();
    });
    stream.on("close", () => {
      for (const call of this.#changed) call();
    });
    this.#isOver = () => stream.closed;
  }

  readonly #isOver: () => boolean;

  /** Waits until it shows `wanted` behind what was waited for before; what came up to its end. */
  async until(wanted: string | RegExp): Promise<string> {
    for (;;) {
      const rest = this.text.slice(this.#from);
      const at = typeof wanted === "string" ? rest.indexOf(wanted) : rest.search(wanted);
      if (at >= 0) {
        const length = typeof wanted === "string" ? wanted.length : rest.match(wanted)?.[0].length;
        this.#from += at + (length ?? 0);
        return rest.slice(0, at + (length ?? 0));
      }
      if (this.#isOver()) expect.fail(`it ended without ${wanted}: ${JSON.stringify(this.text)}`);
      await this.#change();
    }
  }

  async #change(): Promise<void> {
    const { promise, resolve } = withResolvers();
    const bound = setTimeout(resolve, kHungMs);
    this.#changed.add(resolve);
    const before = this.text;
    await promise;
    clearTimeout(bound);
    this.#changed.delete(resolve);
    if (this.text === before && !this.#isOver()) {
      expect.fail(`waited in vain after ${JSON.stringify(this.text)}`);
    }
  }
}

export function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
