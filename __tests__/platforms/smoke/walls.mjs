/** What every sandbox refuses, each with the same probe where it may succeed, and how runs end. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expectEqual, expectSetUp, expectTrue, shown, textOf } from "./expectations.mjs";
import { withListener } from "./listener.mjs";

const kMiB = 1024 * 1024;

/** Five calls that no command needs, by their numbers; each must say that it is refused. */
const kRefusedCalls = `import ctypes, platform
call = ctypes.CDLL(None, use_errno=True).syscall
keyctl_bpf_mount_unshare_read = {
  "x86_64": [250, 321, 165, 272, 310], "aarch64": [219, 280, 40, 97, 270]}[platform.machine()]
print([call(number, 0, 0, 0, 0, 0) for number in keyctl_bpf_mount_unshare_read])`;

function processesWith(text) {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text);
    } catch {
      return false; // it has just gone
    }
  });
}

/** @param make a runner of the kind, with further options; the caller closes each. */
export async function checkWalls({ report, kind, make, runner, workspace }) {
  const limits = { timeoutMs: 20_000 * report.slow };
  const check = (name, body) => report.check(`${kind}: ${name}`, body);
  const shell = (script, more = {}) =>
    runner.exec({ argv: ["bash", "-c", script], limits, ...more });
  // Not below /tmp, which Landlock's runner leaves open by default.
  const secrets = mkdtempSync("/var/tmp/native-runner-smoke-");
  writeFileSync(join(secrets, "secret"), "SECRET");

  await check("a file of the host's is not seen", async () => {
    writeFileSync(join(workspace, "seen"), "SECRET");
    const run = await shell(`cat seen; cat ${secrets}/secret`);
    expectEqual(textOf(run.stdout), "SECRET", shown(run));
    expectTrue(run.exitCode !== 0, shown(run));
  });
  await check("writes outside the workspace are refused", async () => {
    const run = await shell(
      `echo a > ${secrets}/w; echo b > /etc/native-runner-w; echo c > inside`,
    );
    expectTrue(existsSync(join(workspace, "inside")), shown(run));
    for (const path of [join(secrets, "w"), "/etc/native-runner-w"]) {
      expectTrue(!existsSync(path), `${path} was written: ${shown(run)}`);
    }
  });
  await check("the network is refused, and allowed on request", () =>
    withListener(async (port) => {
      const probe = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
      const refused = await shell(probe);
      expectTrue(!textOf(refused.stdout).includes("reached"), shown(refused));
      const open = make({ network: "allow" });
      try {
        const allowed = await open.exec({ argv: ["bash", "-c", probe], limits });
        expectEqual(textOf(allowed.stdout), "reached", shown(allowed));
      } finally {
        await open.close();
      }
    }),
  );
  await check("no user namespace can be made inside", async () => {
    const run = await shell(
      "unshare -Ur true && echo made; unshare -m true && echo made; echo ran",
    );
    expectEqual(textOf(run.stdout), "ran", shown(run));
  });
  await check("system calls that no command needs are refused", async () => {
    const run = await runner.exec({ argv: ["python3", "-c", kRefusedCalls], limits });
    if (run.exitCode === 127) return "no python3 here";
    expectEqual(textOf(run.stdout), "[-1, -1, -1, -1, -1]", shown(run));
    return "";
  });
  await check("a deadline ends all of it", async () => {
    const tag = `2000${process.pid}`;
    const script = `setsid sleep ${tag} & (sleep ${tag} &) ; sleep ${tag}`;
    const run = await shell(script, { limits: { timeoutMs: 1000 * report.slow } });
    expectEqual(run.outcome.kind, "timed-out", shown(run));
    expectEqual(processesWith(tag).length, 0, "processes are left");
  });
  await check("a command that ends leaves nothing", async () => {
    const tag = `3000${process.pid}`;
    const run = await shell(
      `setsid sleep ${tag} >/dev/null 2>&1 & (sleep ${tag} >/dev/null 2>&1 &); exit 3`,
    );
    expectEqual(run.exitCode, 3, shown(run));
    expectEqual(processesWith(tag).length, 0, "processes are left");
  });
  await check("abort", async () => {
    const run = await shell("sleep 300", { signal: AbortSignal.timeout(300) });
    expectEqual(run.outcome.kind, "aborted", shown(run));
  });
  await check("output is capped and counted", async () => {
    const capped = { limits: { ...limits, maxStdoutBytes: 1000 } };
    const run = await shell("head -c 3000000 /dev/zero", capped);
    expectEqual(run.stdout.length, 1000, shown(run));
    expectEqual(run.stdoutBytes, 3_000_000, shown(run));
  });
  await check("memory is limited", async () => {
    const script = "dd if=/dev/zero of=/dev/null bs=90000000 count=1 && echo held"; // one buffer
    const run = await shell(script, { limits: { ...limits, memoryBytes: 64 * kMiB } });
    expectTrue(textOf(run.stdout) !== "held", shown(run));
    const free = await shell(script);
    expectEqual(textOf(free.stdout), "held", shown(free));
  });
  await check("the count of processes is limited", async () => {
    const script = "for i in $(seq 20); do sleep 1 & done; wait; echo done";
    const run = await shell(script, { limits: { ...limits, maxProcesses: 8 } });
    expectSetUp(run);
    expectTrue(/fork|Resource|annot/i.test(textOf(run.stderr)), shown(run));
  });
  await check("twenty at once", async () => {
    const runs = Array.from({ length: 20 }, (_, index) => shell(`echo ${index}`));
    for (const [index, run] of (await Promise.all(runs)).entries()) {
      expectEqual(textOf(run.stdout), String(index), shown(run));
    }
  });
  rmSync(secrets, { recursive: true });
}
