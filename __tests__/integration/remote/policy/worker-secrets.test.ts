/** A worker's own key: no command reads it, whichever of the policy's mounts show it, and whatever a caller leaves out. */

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { parseWorkerPolicy } from "../../../../lib/remote/policy/worker-policy.js";
import { Workspaces } from "../../../../lib/remote/policy/workspace-place.js";
import { PolicyPlaces } from "../../../../lib/remote/worker/policy-places.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";

describeUnless(whyNoBubblewrap, "the key of a worker", () => {
  test.each([
    ["as the policy is", {}],
    ["with a caller's own mounts", { mounts: [] }],
    ["read-only", { allowWriteWorkspace: false }],
  ])("is masked %s, and what lies beside it is not", async (_what, asked) => {
    const keys = tempDirectory("keys");
    const secret = path.join(keys, "worker.nk");
    writeFileSync(secret, "a secret", { mode: 0o600 });
    writeFileSync(path.join(keys, "beside"), "no secret");
    const root = tempDirectory("workspaces");
    mkdirSync(path.join(root, "project"));
    const policy = {
      roBinds: ["/usr", "/bin", "/lib", "/lib64", keys].filter((each) => each !== ""),
      mounts: [{ hostPath: keys, guestPath: "/keys", mode: "rw" }],
      prewarm: 0,
    };
    const own = { slots: 1, name: "one", pool: "tests", secrets: [secret] };
    const places = new PolicyPlaces(parseWorkerPolicy(policy), new Workspaces(root), own);
    await places.check();
    await places.canary();
    const { place, bounded, release } = await places.find(
      "default",
      asked,
      path.join(root, "project"),
      () => {
        throw new Error("no workspace is moved");
      },
    );
    const script = `cat ${secret} ${keys}/beside; cat /keys/worker.nk; chmod 0644 ${secret} /keys/worker.nk; cat ${secret} /keys/worker.nk`;
    const { stdoutText } = await place.exec(
      bounded({ argv: ["sh", "-c", script] }, "exec") as { argv: string[] },
    );
    expect(stdoutText).toBe("no secret");
    release();
    await places.close();
  });
});
