// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** A template that dies ends the runs in its clones, and nothing else; the next runs begin anew. */

import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";

import { eventually, kHungMs } from "../../support/waits.js";
import { BubblewrapNativeRunner, type SandboxedExecResult } from "../support/package.js";
import { childrenOf, isAlive, kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import {
  cloning,
  kill,
  startOf,
  type TemplateProcess,
  templates,
  theTemplate,
  untilCloned,
} from "./cloning-runners.js";

const kWhich = ["launcher", "bwrap"] as const satisfies (keyof TemplateProcess)[];

afterEach(() => expect(childrenOf(process.pid)).toEqual([]));

/** Cold, with the reason; or a clone of a new template. */
function expectWhole({ outcome, audits: [audit] }: SandboxedExecResult): void {
  expect(outcome).toEqual({ kind: "exited" });
  if (audit?.start === "cloned") return;
  expect(audit).toMatchObject({ start: "cold", coldReason: expect.any(String) });
}

async function expectGone({ bwrap, launcher }: TemplateProcess): Promise<void> {
  await eventually("the template is gone", () => !isAlive(bwrap) && !isAlive(launcher));
}

describeSandboxed("a template that is killed", () => {
  describe.each(kWhich)("its %s", (which) => {
    test("while it is idle: nothing is lost, and another is made", async () => {
      const runner = await cloning({ shadowDir: tempDirectory() });
      for (let round = 0; round < 3; round += 1) {
        const template = await theTemplate();
        kill(template[which]);
        // Its launcher is told of bwrap's end by the kernel, and may still begin a clone until then.
        if (which === "bwrap") await expectGone(template);
        const seen = await run(runner, "echo whole; exit 3");
        expect(seen).toMatchObject({ out: "whole", exitCode: 3 });
        expectWhole(seen.result);
        await expectGone(template);
        await untilCloned(runner);
        expect((await theTemplate()).launcher).not.toBe(template.launcher);
      }
      await runner.close();
    });

    test("while it is idle, for long: the next run is whole too", async () => {
      const runner = await cloning({ shadowDir: tempDirectory() });
      const template = await theTemplate();
      kill(template[which]);
      await expectGone(template);
      await delay(50);
      expectWhole((await run(runner, "true")).result);
      await untilCloned(runner);
      await runner.close();
    });

    test("while runs are under way: those end by it, and only those", async () => {
      const mark = newMark();
      const shadowDir = tempDirectory();
      const runner = await cloning({ shadowDir });
      const apart = new BubblewrapNativeRunner({ shadowDir, prewarm: 0, clone: "never" });
      const template = await theTemplate();
      const env = { [kMarker]: mark };
      let up = 0;
      const onStdout = () => {
        up += 1;
      };
      const script = "(setsid sleep 1000 &) & echo up; sleep 1000";
      const hit = [1, 2, 3].map(() => run(runner, script, { env, onStdout }));
      const kept = run(apart, "echo up; sleep 1; echo whole", { onStdout });
      await eventually("all are up", () => up === 4);
      kill(template[which]);
      for (const seen of await Promise.all(hit)) {
        expect(startOf(seen.result)).toBe("cloned");
        expect(seen.out).toBe("up");
        expect(seen.result.outcome).toEqual({ kind: "signaled", signal: "SIGKILL" });
        expect(seen.exitCode).toBe(128 + 9);
      }
      expect(marked(mark)).toEqual([]);
      expect(await kept).toMatchObject({ kind: "exited", out: "up\nwhole" });
      expectWhole((await run(runner, "true")).result);
      await untilCloned(runner);
      await Promise.all([runner.close(), apart.close()]);
    });

    test("while clones of it stand: those are not used", async () => {
      const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 2 });
      // The first that stand may have been made beside the template: runs take those.
      const areClones = () =>
        templates().length === 1 && childrenOf(templates()[0]?.launcher ?? 0).length === 2;
      for (let tries = 0; tries < 100 && !areClones(); tries += 1) {
        await run(runner, "true");
        expect(await runner.warm()).toBe(2);
      }
      const template = await theTemplate();
      expect(childrenOf(template.launcher)).toHaveLength(2);
      kill(template[which]);
      await expectGone(template);
      const seen = await run(runner, "echo whole");
      expect(seen).toMatchObject({ kind: "exited", out: "whole" });
      expect(startOf(seen.result)).not.toBe("session");
      await runner.close();
    });

    test("while the runner is closed", async () => {
      const runner = await cloning({ shadowDir: tempDirectory() });
      const template = await theTemplate();
      const closing = runner.close();
      kill(template[which]);
      await closing;
      await expectGone(template);
    });
  });

  test("stopped: runs are whole once it goes on, or without it", async () => {
    const runner = await cloning({ shadowDir: tempDirectory() });
    const { launcher } = await theTemplate();
    process.kill(launcher, "SIGSTOP");
    const limits = { timeoutMs: kHungMs };
    const running = run(runner, "echo whole", { limits });
    await delay(200);
    process.kill(launcher, "SIGCONT");
    expect(await running).toMatchObject({ kind: "exited", out: "whole" });
    process.kill(launcher, "SIGSTOP");
    const late = await run(runner, "sleep 0", { limits: { timeoutMs: 500 } });
    expect(["exited", "timed-out"]).toContain(late.kind);
    kill(launcher);
    expectWhole((await run(runner, "true")).result);
    await runner.close();
  });
});
