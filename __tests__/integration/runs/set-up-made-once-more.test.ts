// As root too: limits, ids and set-up differ for root.
/** A set-up that fails because a file on the host was just being replaced is made once more. */

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { bindsWith } from "../promises/probed-host.js";
import { BubblewrapNativeRunner, Bwrap } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const kComplaint = "bwrap: Can't bind mount: Unable to mount source on destination: No such file";

/**
 * A bwrap that fails the tries whose numbers `fails` has, replacing a file that is mounted if `replaces`;
 * otherwise it is the real one.
 */
async function racing({ fails, replaces }: { fails: readonly number[]; replaces: boolean }) {
  const tools = tempDirectory("tools");
  const folder = join(tools, "folder");
  const mounted = join(folder, "file");
  mkdirSync(folder);
  writeFileSync(mounted, "old");
  const tries = join(tools, "tries");
  writeFileSync(tries, "");
  await delay(100); // what was made just now may be taken for replaced
  const path = join(tools, "bwrap");
  const replace = replaces ? `echo new > ${folder}/next; mv ${folder}/next ${mounted};` : "";
  const fail = `sleep 0.05; ${replace} echo "${kComplaint}" >&2; exit 1`;
  const script = `#!/bin/sh
export PATH=/usr/local/bin:/usr/bin:/bin
if [ "$1" = --help ]; then exec bwrap --help; fi
echo x >> ${tries}
case "$(wc -l < ${tries})" in ${fails.join("|")}) ${fail};; esac
exec bwrap "$@"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  const roBinds = [...bindsWith(folder), mounted];
  const options = { shadowDir: tempDirectory(), bwrapPath: path, roBinds, prewarm: 0 };
  const runner = new BubblewrapNativeRunner({ ...options, clone: "never" });
  const projectOf = () =>
    new Bwrap(folder, [], false, { bwrapPath: path, readOnly: ["file"], secrets: [] });
  return { runner, mounted, projectOf, count: () => readFileSync(tries, "utf8").length / 2 };
}

describeSandboxed("a set-up that lost a race with the host", () => {
  test("is made once more, and nobody sees the first", async () => {
    const { runner, mounted, count } = await racing({ fails: [1], replaces: true });
    const input = { stdin: Buffer.from("input") };
    const seen = await run(runner, `cat; cat ${mounted}; echo err >&2`, input);
    expect(seen).toMatchObject({ kind: "exited", exitCode: 0, out: "inputnew", err: "err" });
    expect(count()).toBe(2);
    expect((await run(runner, "echo again")).out).toBe("again");
    expect(count()).toBe(3);
  });

  test("is made once more for a live process", async () => {
    const { runner, count } = await racing({ fails: [1], replaces: true });
    const live = await runner.spawn({ argv: ["cat"] });
    live.stdin.end("input");
    let out = "";
    for await (const chunk of live.stdout) out += chunk;
    expect((await live.result).outcome).toEqual({ kind: "exited" });
    expect(out).toBe("input");
    expect(count()).toBe(2);
  });

  test("is made once more for a session", async () => {
    const { runner, count } = await racing({ fails: [1], replaces: true });
    await using session = await runner.openSession();
    expect((await run(session, "echo on")).out).toBe("on");
    expect(count()).toBe(2);
  });

  test("is made once more for a project's command", async () => {
    const { projectOf, count } = await racing({ fails: [2], replaces: true });
    expect(await projectOf().exec("cat file")).toBe("new\n");
    expect(count()).toBe(3); // the proof that a sandbox can be had, and the command twice
    const other = await racing({ fails: [2], replaces: false });
    await expect(other.projectOf().exec("cat file")).rejects.toThrow(kComplaint);
    expect(other.count()).toBe(2);
  });

  test("is reported when it fails a second time", async () => {
    const { runner, count } = await racing({ fails: [1, 2], replaces: true });
    const seen = await run(runner, "echo never");
    expect(seen).toMatchObject({ kind: "setup-failed", exitCode: 125, out: "", err: kComplaint });
    expect(count()).toBe(2);
    const other = await racing({ fails: [1, 2], replaces: true });
    await expect(other.runner.openSession()).rejects.toThrow(kComplaint);
    expect(other.count()).toBe(2);
  });

  test("is no other failure: that is reported at once", async () => {
    const { runner, count } = await racing({ fails: [1], replaces: false });
    const seen = await run(runner, "echo never");
    expect(seen).toMatchObject({ kind: "setup-failed", exitCode: 125, out: "", err: kComplaint });
    expect(count()).toBe(1);
    const other = await racing({ fails: [1], replaces: false });
    await expect(other.runner.openSession()).rejects.toThrow(kComplaint);
    expect(other.count()).toBe(1);
  });
});
