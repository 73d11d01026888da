import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { portPair } from "../../../support/remote/port-pair.js";
import { describeSandboxed } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { openPlace, run, shapeOf } from "./caller-and-worker.js";

function filled(): string {
  const directory = tempDirectory();
  mkdirSync(join(directory, "d"));
  for (let at = 0; at < 20; at += 1) writeFileSync(join(directory, "d", `f${at}`), `${at}\n`);
  return directory;
}

const kScript = "rm d/f1; echo new > d/new; mv d/f2 moved; ln -s moved link";
const kMostMessages = 60;

describeSandboxed("an exchange that is cut", () => {
  test("at any message leaves nothing half done on either side", async () => {
    const state = tempDirectory("root");
    let changed = 0;
    let cutAt = 0;
    for (; cutAt < kMostMessages; cutAt += 1) {
      const directory = filled();
      const before = shapeOf(directory);
      const root = join(state, String(cutAt));
      const place = await openPlace(directory, { root });
      const ports = portPair(cutAt);
      const ended = await run(place, { script: kScript, ports });
      const after = shapeOf(directory);
      if (ended.report) {
        changed += 1;
        expect(after).toMatchObject({ moved: expect.any(String), link: "-> moved" });
        expect(after).not.toHaveProperty("d/f1");
      } else {
        expect(ended.error).toMatchObject({ code: "ERR_WORKSPACE_CUT" });
        expect(after).toEqual(before);
      }
      // The next run has the same workspace there as here, and nothing of the last one's.
      const next = await run(place, { script: "find . | sort > /tmp/l; cat /tmp/l d/f*" });
      expect(next.error ?? next.workerError).toBeUndefined();
      const listed = next.result?.stdoutText.split("\n").filter((line) => line.startsWith("."));
      expect(listed?.map((line) => line.replace(/^\.\//, "")).sort()).toEqual(
        Object.keys(after).sort(),
      );
      expect(readdirSync(join(root, "runs"))).toEqual([]);
      if (ports.sent() < cutAt) break; // nothing was cut any more
    }
    expect(cutAt).toBeLessThan(kMostMessages);
    expect(changed).toBeGreaterThan(0);
  }, 300_000);

  test("by a worker that can't tell what was changed is an error, and nothing has changed", async () => {
    const place = await openPlace(filled());
    const before = shapeOf(place.directory);
    const failed = await run(place, { script: "touch \"$(printf 'x\\377')\"; echo other > d/f1" });
    expect(failed.error).toMatchObject({ code: "ERR_WORKSPACE_UNSUPPORTED" });
    expect(shapeOf(place.directory)).toEqual(before);
    const fine = await run(place, { script: "touch x; echo other > d/f1" });
    expect(fine.report?.committed).toHaveLength(2);
  });
});
