/** Where no session is possible, started processes and the commands beside them have sandboxes of their own. */

import { expect, test } from "vitest";

import { SandboxError } from "../../lib/errors.js";
import { type Commands, SharedSession } from "../../lib/mcp/shared-session.js";

function withoutSessions() {
  const calls: string[] = [];
  let refuse = () => {};
  const opening = new Promise<never>((_, reject) => {
    refuse = () => reject(new SandboxError("no session", { code: "ERR_SANDBOX_UNAVAILABLE" }));
  });
  const commands = {
    openSession: () => opening,
    spawn: async () => calls.push("spawn"),
    exec: async () => calls.push("exec"),
  } as unknown as Commands;
  return { calls, commands, refuse };
}

test("a command that comes while a session is opened in vain has a sandbox of its own", async () => {
  const { calls, commands, refuse } = withoutSessions();
  const shared = new SharedSession();
  const starting = shared.start(commands, { argv: ["serve"] });
  const running = shared.exec(commands, { argv: ["ask"] });
  refuse();
  await Promise.all([starting, running]);
  expect(calls.sort()).toEqual(["exec", "spawn"]);
  await shared.exec(commands, { argv: ["ask"] });
  expect(calls).toHaveLength(3);
});
