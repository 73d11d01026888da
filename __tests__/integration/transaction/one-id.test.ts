// As root too: only root can give a workspace to another group.
/** Transactions of a host in a user namespace that has one user and one group, as rootless containers have. */

import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kNodeInside } from "../support/node-arguments.js";
import {
  describeUnless,
  isRoot,
  plainEnvironment,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

function whyNoSuchNamespace(): string | undefined {
  const tried = spawnSync("unshare", ["-r", "true"], { encoding: "utf8" });
  return tried.status === 0 ? whyNoBubblewrap : `no user namespace: ${tried.stderr}`;
}

/** What opening one there gives, and what a commit then makes of the host's file. */
function opened(workspace: string, backend: string): Record<string, unknown> {
  const script = `
    const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
    const [workspace, directory, backend] = process.argv.slice(-3);
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0, isolation: "compat" });
    try {
      const transaction = await runner.openTransaction({ directory, backend });
      console.log(JSON.stringify({ backend: transaction.backend, reason: transaction.backendReason }));
      await transaction.discard();
    } catch ({ code, message }) {
      console.log(JSON.stringify({ code, message }));
    }
    process.exit(0);`;
  const words = [...kNodeInside, "--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync(
    "unshare",
    ["-r", ...words, workspace, tempDirectory("state"), backend],
    { encoding: "utf8", env: plainEnvironment() },
  );
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Record<string, unknown>;
}

describeUnless(whyNoSuchNamespace(), "in a user namespace with one id", () => {
  // A group that has no number there is the usual case; only root can make one here.
  describeUnless(
    isRoot ? undefined : "only root may give a directory away",
    "another's group",
    () => {
      test("makes `auto` take a copy, and tells why there is no overlay", () => {
        const workspace = tempDirectory();
        writeFileSync(join(workspace, "a"), "host");
        mkdirSync(join(workspace, "dir"));
        chownSync(workspace, 0, 61_502);
        const told = opened(workspace, "auto");
        expect(told).toMatchObject({ backend: "copy" });
        expect(told.reason).toMatch(/no overlay can be mounted here/);
        expect(opened(workspace, "overlay")).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE" });
      });
    },
  );

  test("a workspace of one's own can be opened", () => {
    const workspace = tempDirectory();
    writeFileSync(join(workspace, "a"), "host");
    expect(opened(workspace, "auto")).not.toHaveProperty("code");
  });
});
