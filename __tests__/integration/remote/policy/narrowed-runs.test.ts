/** What the policy lets through is what a runner takes, and what it then does. */

import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { Refusal } from "../../../../lib/remote/policy/checked.js";
import { narrow } from "../../../../lib/remote/policy/narrow.js";
import { parseWorkerPolicy } from "../../../../lib/remote/policy/worker-policy.js";
import { BubblewrapNativeRunner } from "../../support/package.js";
import { describeSandboxed } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";

function narrowed(policy: object, asked: object = {}) {
  const answer = narrow(parseWorkerPolicy(policy).ceiling, asked);
  if (answer instanceof Refusal) throw new Error(answer.message);
  return answer;
}

/** All that a program needs to start here, and nothing of /etc. */
const kPrograms = ["/usr", "/bin", "/lib", "/lib64"].filter(existsSync);
const kMount = { hostPath: "/usr/bin", guestPath: "/tools", mode: "ro" };

describeSandboxed("a runner for a caller", () => {
  const shadowDir = tempDirectory();

  test.each([
    [{}, {}],
    [{ network: { allow: ["*.a.test"] } }, { network: { allow: ["x.a.test"] } }],
    [{ network: { hostPorts: [5432, "[::1]:80"] } }, { network: { hostPorts: [5432] } }],
    [
      { mounts: [kMount], layers: ["landlock"] },
      { mounts: [kMount], required: ["seccomp"] },
    ],
    [{ devBind: true }, { devBind: false, allowWriteWorkspace: false, envPolicy: "clean" }],
    [{ devices: ["/dev/full", "fuse"] }, { devices: ["/dev/full"] }],
    [{}, { roBinds: kPrograms, clone: "never", prewarm: 0 }],
  ])("%j, asked for %j", async (policy, asked) => {
    const { options, limits } = narrowed(policy, asked);
    const runner = new BubblewrapNativeRunner({ shadowDir, ...options });
    try {
      const argv = ["test", "-d", "/usr"];
      expect(await runner.exec({ argv, limits })).toMatchObject({
        exitCode: 0,
        outcome: { kind: "exited" },
      });
    } finally {
      await runner.close();
    }
  });

  test("has the policy of a local one with the same options", async () => {
    // A worker shows its tools only where its policy says so.
    const own = new BubblewrapNativeRunner({ shadowDir, tools: "none" });
    const callers = new BubblewrapNativeRunner({ shadowDir, ...narrowed({}).options });
    const command = { argv: ["true"] };
    expect((await callers.explain(command)).policyHash).toBe(
      (await own.explain(command)).policyHash,
    );
  });
});
