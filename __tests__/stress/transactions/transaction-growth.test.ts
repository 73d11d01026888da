/** Thousands of transactions, below the usual limits of a small host, leave no descriptor open. */

import { beforeAll, expect, test } from "vitest";

import { runHost } from "../../integration/support/host-program.js";
import { buildProbe } from "../../integration/support/probe.js";
import { describeSandboxed } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";

const kRuns = process.env.CI === "true" ? 200 : 650; // three rounds of them

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

describeSandboxed("transactions below `ulimit -n 256`", () => {
  test("close what they opened, whichever way they end", async () => {
    const program = "../../stress/transactions/transaction-growth.mjs";
    const ended = await runHost(probe, program, {
      args: [tempDirectory("project"), tempDirectory("transactions"), String(kRuns)],
      before: ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"],
    });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    const { before, after, seen, left } = JSON.parse(ended.out);
    expect(Object.keys(seen).sort()).toEqual(
      ["committed", "undone", "discarded", "resumed", "closed twice"]
        .flatMap((end) => [`copy exited ${end}`, `overlay exited ${end}`])
        .sort(),
    );
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
    expect(left).toEqual([]);
  });
});
