/** Promise 5: nothing survives a run, however its processes hide and however it ends. */

import { existsSync, mkdtempSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";

import { eventually, kQuietMs } from "../../support/waits.js";
import type { NativeExecInput } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { type MakeRunner, run } from "../support/results.js";
import type { Scene } from "./probed-host.js";

// Each case has a directory of its own below the workspace, where the probe lies. Each makes the file
// "up" once it is there; the probe's `linger` ignores all signals.
const kHidingPlaces = {
  "a background process": `../probe linger up &`,
  "one that was forked twice": `(../probe linger up &) &`,
  "one in a session of its own": `setsid ../probe linger up &`,
  "one forked twice in a session of its own": `setsid sh -c '../probe linger up & exit' &`,
  "a stopped one": `../probe linger up stop &`,
  "one that holds no pipe": `setsid ../probe linger up < /dev/null > /dev/null 2>&1 &`,
  "one that holds only stdin": `setsid ../probe linger up > /dev/null 2>&1 &`,
} as const;

const kUntilUp = "while [ ! -e up ]; do sleep 0.01; done";

type End = {
  script: string;
  input(up: () => Promise<unknown>): Partial<NativeExecInput>;
  kind: string;
};

const kEnds: Record<string, End> = {
  exit: { script: kUntilUp, input: () => ({}), kind: "exited" },
  signal: { script: `${kUntilUp}; kill -9 $$`, input: () => ({}), kind: "signaled" },
  timeout: {
    script: `${kUntilUp}; sleep 1000`,
    input: () => ({ limits: { timeoutMs: 1500 } }),
    kind: "timed-out",
  },
  abort: {
    script: `${kUntilUp}; sleep 1000`,
    input: (up) => {
      const controller = new AbortController();
      void up().then(() => controller.abort());
      return { signal: controller.signal };
    },
    kind: "aborted",
  },
};

/** Whether the host sees that a command has made a file in the workspace. */
export type Exists = (workspace: string, path: string) => boolean;

export const existsOnHost: Exists = (workspace, path) => existsSync(join(workspace, path));

export function describeSurvival(
  scene: () => Scene,
  makeRunner: MakeRunner,
  exists: Exists = existsOnHost,
): void {
  describe("5: nothing survives", () => {
    const places = Object.entries(kHidingPlaces);
    const cases = Object.entries(kEnds).flatMap(([end, how]) =>
      places.map(([place, start]) => ({ place, end, start, how })),
    );
    test.concurrent.for(cases)("$place after $end", async ({ start, how }) => {
      const { workspace } = scene();
      const directory = mkdtempSync(join(workspace, "case-"));
      const isUp = () => exists(workspace, join(basename(directory), "up"));
      const mark = newMark();
      const input = how.input(() => eventually("it is up", isUp));
      const running = run(makeRunner({ shadowDir: workspace }), `${start}\n${how.script}`, {
        ...input,
        cwd: basename(directory),
        env: { [kMarker]: mark },
      });
      await eventually("it is up", isUp);
      const seen = await running;
      const left = marked(mark);
      expect(seen.kind ?? how.kind).toBe(how.kind);
      expect(left).toEqual([]);
    });

    test("though a marked process is seen while it runs", async () => {
      const mark = newMark();
      const controller = new AbortController();
      const running = run(makeRunner({ shadowDir: scene().workspace }), ["sleep", "1000"], {
        env: { [kMarker]: mark },
        signal: controller.signal,
      });
      await eventually("the command is seen", () => marked(mark).length > 0);
      controller.abort();
      await running;
      expect(marked(mark)).toEqual([]);
    });

    test("a fork bomb", async () => {
      const mark = newMark();
      const script = "f() { while :; do sleep 1000 & done; }; f & f & f & sleep 1000";
      const seen = await run(makeRunner({ shadowDir: scene().workspace }), script, {
        env: { [kMarker]: mark },
        limits: { timeoutMs: 300 },
      });
      expect(seen.exitCode).toBe(124);
      expect(marked(mark)).toEqual([]);
      await delay(kQuietMs);
      expect(marked(mark)).toEqual([]);
    });
  });
}
