/** A session of a fork that begins with the shell state of one of the transaction that it was forked from. */

import { expect, test } from "vitest";

import { BubblewrapNativeRunner, type NativeSession } from "../support/package.js";
import { shellOf } from "../support/sessions.js";
import { describeBackends, project } from "../support/transactions.js";

const bashOf = (session: NativeSession) => shellOf(session, "bash", "-c");

describeBackends("a session of a fork", (openTransaction) => {
  test("goes on as one of its parent, in the fork", async () => {
    const { transaction, runner } = await openTransaction(project());
    const main = await transaction.openSession({ shell: true });
    await bashOf(main)("mkdir -p deep/er; cd deep/er; A=kept; greet() { echo hello $A; }");
    const fork = await transaction.fork();
    const session = await fork.openSession({ from: main });
    expect((await bashOf(session)("pwd; greet; echo fork > file")).out).toBe(
      "/workspace/deep/er\nhello kept",
    );
    expect((await bashOf(main)("ls")).out).toBe("");
    expect(await fork.files.readText("deep/er/file")).toBe("fork\n");
    // Not from a sibling, a child, or outside of it.
    const sibling = await transaction.fork();
    const outside = await runner.openSession({ shell: true });
    for (const [where, from] of [
      [sibling, session],
      [transaction, session],
      [transaction, outside],
      [runner, main],
    ] as const) {
      await expect(where.openSession({ from })).rejects.toThrow("same runner");
    }
    const other = new BubblewrapNativeRunner({ shadowDir: runner.shadowDir, prewarm: 0 });
    await expect(other.openSession({ from: main })).rejects.toThrow("same runner");
    await other.close();
    await Promise.all([fork, sibling, transaction].map((each) => each.discard()));
    await expect(runner.openSession({ from: main })).rejects.toThrow();
    await runner.close();
  });
});
