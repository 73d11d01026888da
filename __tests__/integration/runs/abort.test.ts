/** AbortSignal before, during and after a run. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`abort, ${label}`, () => {
    test("before the call: aborted, with all fields there", async () => {
      const workspace = tempDirectory();
      const seen = await run(makeRunner(workspace), "sleep 0.5; echo ran > ran", {
        signal: AbortSignal.abort(),
      });
      expect(seen).toMatchObject({ exitCode: 130, kind: "aborted", out: "", err: "" });
      const [audit] = seen.result.audits;
      expect(audit).toMatchObject({ kind: "native.exec", outcome: "aborted", timedOut: false });
      // No worker has told of it, so it is not known how it would have been run there.
      const isPlain = label === "local" || label === "remote";
      expect(audit?.runtime).toBe(isPlain ? label : "bubblewrap");
      expect(audit?.argv.slice(-3)).toEqual(["sh", "-c", "sleep 0.5; echo ran > ran"]);
      expect(existsSync(join(workspace, "ran"))).toBe(false);
    });

    test("right after the call", async () => {
      const controller = new AbortController();
      const running = run(makeRunner(tempDirectory()), ["sleep", "1000"], {
        signal: controller.signal,
      });
      const reason = new Error("enough");
      controller.abort(reason);
      const seen = await running;
      expect(seen).toMatchObject({ exitCode: 130, kind: "aborted" });
      const { outcome } = seen.result;
      expect(outcome.kind === "aborted" && outcome.reason).toBe(reason);
    });

    test("in mid-run keeps what was written", async () => {
      const controller = new AbortController();
      const mark = newMark();
      const seen = await run(makeRunner(tempDirectory()), "echo so far; sleep 1000", {
        env: { [kMarker]: mark },
        signal: controller.signal,
        onStdout: () => controller.abort(),
      });
      expect(seen).toMatchObject({ exitCode: 130, kind: "aborted", out: "so far" });
      expect(marked(mark)).toEqual([]);
    });

    test("after the end changes nothing", async () => {
      const controller = new AbortController();
      const seen = await run(makeRunner(tempDirectory()), "exit 3", { signal: controller.signal });
      controller.abort();
      controller.abort();
      expect(seen).toMatchObject({ exitCode: 3, kind: "exited" });
    });

    test("one signal ends many runs, and only its own", async () => {
      const controller = new AbortController();
      const runner = makeRunner(tempDirectory());
      const mark = newMark();
      const ended = Array.from({ length: 6 }, () =>
        run(runner, ["sleep", "1000"], { signal: controller.signal, env: { [kMarker]: mark } }),
      );
      const other = run(runner, "sleep 0.5; echo untouched");
      await eventually("they run", () => marked(mark).length >= 6);
      controller.abort();
      for (const seen of await Promise.all(ended)) expect(seen.kind).toBe("aborted");
      expect(marked(mark)).toEqual([]);
      expect((await other).out).toBe("untouched");
    });
  });
}

describeSandboxed("abort of a run that waits for its turn", () => {
  test("it never starts, and the others go on", async () => {
    const workspace = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, maxConcurrent: 1 });
    const controller = new AbortController();
    const first = run(runner, "sleep 0.3; echo first");
    const waiting = run(runner, "echo ran > ran", { signal: controller.signal });
    const last = run(runner, "echo last");
    controller.abort();
    const seen = await waiting;
    expect(seen).toMatchObject({ exitCode: 130, kind: "aborted" });
    expect(seen.result.audits[0]).toMatchObject({ runtime: "bubblewrap", cmd: "bwrap" });
    expect([(await first).out, (await last).out]).toEqual(["first", "last"]);
    expect(existsSync(join(workspace, "ran"))).toBe(false);
  });
});
