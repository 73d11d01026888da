/** What is wrong with a worker's own options is told when it starts, to its operator, and not to its callers later. */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { addWorkerCommand, type WorkerCliOptions } from "../../../../lib/cli/worker/commands.js";
import { parseWorkerPolicy } from "../../../../lib/remote/policy/worker-policy.js";
import { Workspaces } from "../../../../lib/remote/policy/workspace-place.js";
import { PolicyPlaces } from "../../../../lib/remote/worker/policy-places.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { tempDirectory } from "../../support/temp.js";

const kMain = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));
const mount = (guestPath: string) => ({ hostPath: "/etc", guestPath, mode: "ro" });

/** As the command line does it. */
const check = (policy: object) =>
  new PolicyPlaces(parseWorkerPolicy(policy), new Workspaces(tempDirectory()), {
    slots: 1,
    name: "one",
    pool: "tests",
  }).check();

const kRefused: [string, object, string][] = [
  ["a mount in /proc", { mounts: [mount("/proc/x")] }, "mounts[0].guestPath"],
  ["a mount that hides the workspace", { mounts: [mount("/")] }, "mounts[0].guestPath"],
  ["two mounts at one place", { mounts: [mount("/a"), mount("/a")] }, "mounts[1].guestPath"],
  ["a variable that is none", { envPolicy: ["A=B"] }, "envPolicy[0]"],
  [
    "what excludes each other",
    { isolation: "compat", network: { allow: ["a.test"] } },
    "isolation",
  ],
];

describe("a policy that only the runner can refuse", () => {
  test.each(kRefused)("for %s is refused by its field", async (_, policy, field) => {
    await expect(check(policy)).rejects.toMatchObject({
      name: "TypeError",
      message: expect.stringContaining(`the policy can't be had: Expected \`${field}\``) as string,
    });
  });

  test("names the tenant whose it is", async () => {
    const network = { allow: ["a.test"] };
    const tenants = { ada: { isolation: "strict", network }, bob: { network } };
    await expect(check({ isolation: "compat", network: "allow", tenants })).rejects.toThrow(
      "the policy of the tenant bob can't be had: Expected `isolation`",
    );
  });

  test("is none that is right (the control)", async () => {
    await check({});
    await check({ mounts: [mount("/a")], envPolicy: ["A"], tenants: { ada: { network: "deny" } } });
  });

  test("ends the worker before it looks for a broker", () => {
    const directory = tempDirectory("policy");
    const file = path.join(directory, "policy.json");
    writeFileSync(file, JSON.stringify({ mounts: [mount("/proc/x")] }));
    const broker = ["--server", "nats://127.0.0.1:9", "--insecure", "--pool", "p"];
    const words = ["worker", ...broker, "--workspaces", directory, "--policy", file];
    const { stderr, status } = spawnSync(kNodeProgram, [kMain, ...words], {
      encoding: "utf8",
      timeout: 110_000, // one that finds nothing wrong would try for ever
    });
    expect(stderr).toContain("the policy can't be had: Expected `mounts[0].guestPath`");
    expect(status).not.toBe(0);
  }, 120_000);
});

describe("--cache", () => {
  /** What the command line makes of it. */
  async function cacheOf(text: string): Promise<number | undefined> {
    let seen: WorkerCliOptions | undefined;
    const command = addWorkerCommand(new Command("worker"), async (options) => {
      seen = options;
    });
    command.exitOverride().configureOutput({ writeErr: () => {} });
    const broker = ["--server", "nats://127.0.0.1:9", "--insecure", "--pool", "p"];
    await command.parseAsync([...broker, "--workspaces", "/tmp", "--cache", text], {
      from: "user",
    });
    return seen?.cache;
  }

  test.each(["0", "-1", "much", ""])("of %j is refused", async (text) => {
    await expect(cacheOf(text)).rejects.toThrow(/--cache/);
  });

  test("is a size (the control)", async () => {
    expect(await cacheOf("1G")).toBe(2 ** 30);
    expect(await cacheOf("1")).toBe(1);
  });
});
