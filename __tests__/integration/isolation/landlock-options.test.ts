// As root too: root has more to keep from a command.
/** LandlockNativeRunner's own options; what it keeps of the promises is in promises-landlock.test.ts. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { startServices } from "../promises/host-services.js";
import { kProbe, makeScene } from "../promises/probed-host.js";
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  type LandlockNativeRunnerOptions,
  LocalNativeRunner,
} from "../support/package.js";
import { kMarker, marked, newMark, readProc } from "../support/processes.js";
import { describeSandboxed, isRoot, whyNoBubblewrap } from "../support/requirements.js";
import { run } from "../support/results.js";
import { describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

/** Not /tmp, which the defaults let through. */
const place = (name: string) => tempDirectory(name, "/var/tmp");

function plant(directory: string, content: string): string {
  const file = join(directory, "file");
  writeFileSync(file, content);
  return file;
}

describeRuntime("landlock", () => {
  const make = (options: Partial<LandlockNativeRunnerOptions> = {}) =>
    new LandlockNativeRunner({ shadowDir: place("work"), ...options });

  test("refuses what is not listed in the run in which all that is listed works", async () => {
    const readable = place("readable");
    const writable = place("writable");
    plant(readable, "listed");
    const secret = plant(place("outside"), "planted");
    const runner = make({
      fsReadDirs: ["/usr", "/bin", "/lib", "/lib64", "/etc", readable].filter(existsSync),
      fsWriteDirs: [writable],
    });
    const script = `
      cat ${readable}/file; echo; echo x > ${writable}/made && echo wrote
      echo x > made && cat made
      cat ${secret}; cat /etc/shadow; echo x > ${readable}/made; echo x > ${secret}`;
    const seen = await run(runner, script);
    expect(seen.out).toBe("listed\nwrote\nx");
    expect(seen.err.match(/Permission denied/g)).toHaveLength(4);
    expect(existsSync(join(readable, "made"))).toBe(false);
    expect(readFileSync(secret, "utf8")).toBe("planted");
    const local = new LocalNativeRunner({ shadowDir: runner.shadowDir });
    expect((await run(local, ["cat", secret])).out).toBe("planted");
    const shadow = await run(local, ["cat", "/etc/shadow"]);
    if (isRoot) expect(shadow.out).toContain("root:");
    else expect(shadow.err).toContain("Permission denied"); // not ours to read in any case
  });

  // Landlock has no hook for these, and seccomp sees no path; no inotify at all would break watchers.
  test("does not hide what paths tell: watched names, link targets, attributes", async () => {
    const scene = makeScene();
    const secret = plant(scene.outside, "planted");
    const hasNote = spawnSync("setfattr", ["-n", "user.note", "-v", "noted", secret]).status === 0;
    symlinkSync("where it leads", join(scene.outside, "link"));
    const script = `
      ls ${scene.outside}; cat ${secret}
      readlink ${scene.outside}/link; ${kProbe} note ${secret}
      exec ${kProbe} watch ${scene.outside}`;
    let seenSoFar = "";
    const seen = await run(make({ shadowDir: scene.workspace }), script, {
      onStdout: (chunk) => {
        seenSoFar += Buffer.from(chunk).toString();
        if (seenSoFar.endsWith("OK\n")) readFileSync(secret);
      },
    });
    expect(seen.err.match(/Permission denied/g), "it can be neither listed nor read").toHaveLength(
      2,
    );
    const [target, note, watching, name] = seen.out.split("\n");
    expect([target, watching, name]).toEqual(["where it leads", "OK", "file"]);
    if (hasNote) expect(note).toBe("noted");
  });

  test("network says whether sockets work: TCP, UDP, and abstract ones", async () => {
    const scene = makeScene();
    const services = await startServices(scene);
    const tries = [
      `${kProbe} tcp ${services.tcp}`,
      `${kProbe} udp ${services.udp}`,
      `${kProbe} abstract ${services.abstract}`,
      `${kProbe} unix ${join(scene.outside, "host.sock")}`,
    ].join("; ");
    try {
      const shadowDir = scene.workspace;
      const answers = async (options: Partial<LandlockNativeRunnerOptions>) =>
        (await run(make({ shadowDir, ...options }), tries)).out.split("\n");
      expect(await answers({})).toEqual(["EACCES", "EACCES", "EACCES", "EACCES"]);
      expect(await answers({ network: "allow" })).toEqual(["hello", "hello", "hello", "hello"]);
    } finally {
      await services.close();
    }
  });

  test("the workspace may be read only, written only, or not touched", async () => {
    const shadowDir = place("work");
    plant(shadowDir, "content");
    const attempt = "cat file; echo x > made && echo wrote";
    const seen = async (allowReadWorkspace: boolean, allowWriteWorkspace: boolean) =>
      (await run(make({ shadowDir, allowReadWorkspace, allowWriteWorkspace }), attempt)).out;
    expect(await seen(true, true)).toBe("contentwrote");
    expect(await seen(true, false)).toBe("content");
    expect(await seen(false, true)).toBe("wrote");
    expect(await seen(false, false)).toBe("");
  });

  test("a directory that was named and is not there is a failed set-up that names it", async () => {
    for (const field of ["fsReadDirs", "fsWriteDirs"] as const) {
      const { result } = await run(make({ [field]: ["/not/there"] }), "echo ran");
      expect(result.outcome).toMatchObject({
        kind: "setup-failed",
        reason: `${field} names "/not/there", which this host lacks`,
        fix: expect.stringContaining(field),
      });
      expect(result.stdoutBytes).toBe(0);
    }
  });

  test("the audit lists what this kernel enforced, and required ones are there or nothing runs", async () => {
    const layersOf = async (options: Partial<LandlockNativeRunnerOptions>) =>
      (await run(make(options), ["true"])).result.audits[0]?.layers ?? [];
    const denied = await layersOf({});
    expect(denied).toEqual(expect.arrayContaining(["landlock-fs", "no-sockets", "seccomp"]));
    const required = denied.filter((layer) => layer !== "tree-kill:subreaper");
    expect(await layersOf({ required })).toEqual(denied);
    const allowed = await layersOf({ network: "allow" });
    expect(allowed).not.toContain("no-sockets");
    expect(allowed).not.toContain("landlock-tcp");
    const { result } = await run(make({ network: "allow", required: ["no-sockets"] }), "echo ran");
    expect(result.outcome).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringContaining("no-sockets"),
    });
    expect(result.stdoutBytes).toBe(0);
  });

  test("has a pid namespace wherever this user may make one, as where bwrap works", async (context) => {
    context.skip(whyNoBubblewrap !== undefined, whyNoBubblewrap);
    const { layers } = (await run(make(), ["true"])).result.audits[0] ?? {};
    expect(layers).toEqual(expect.arrayContaining(["pid-namespace", "tree-kill:pid-namespace"]));
  });

  // Of what is not dumpable, /proc belongs to root (proc(5)); for root there is nothing to tell.
  if (!isRoot) {
    test("its launcher can't be looked into by its own user, also as process 1 of a namespace", async () => {
      const mark = newMark();
      const controller = new AbortController();
      const running = run(make(), ["sleep", "1000"], {
        env: { [kMarker]: mark },
        signal: controller.signal,
      });
      await eventually("the command is seen", () => marked(mark).length > 0);
      const command = Number.parseInt(marked(mark)[0] ?? "", 10);
      const launcher = Number(readProc(command, "stat").split(") ").at(-1)?.split(" ")[1]);
      const owners = [command, launcher].map((pid) => statSync(`/proc/${pid}/mem`).uid);
      controller.abort();
      await running;
      expect(owners).toEqual([process.getuid?.(), 0]);
    });
  }

  test("starts below the workspace, at its host path", async () => {
    const runner = make();
    mkdirSync(join(runner.shadowDir, "a"));
    const seen = await run(runner, "pwd", { cwd: "a" });
    expect(seen.out).toBe(join(runner.shadowDir, "a"));
  });
});

describeSandboxed("Landlock inside Bubblewrap", () => {
  describeRuntime("landlock", () => {
    test("is a second wall: what the mounts let be written, it refuses", async () => {
      const data = place("data");
      const options = { shadowDir: place("work"), extraArgs: ["--bind", data, data] };
      const script = `echo x > ${data}/made && echo data; echo x > made && echo x > /tmp/made && echo own`;
      const one = await run(new BubblewrapNativeRunner(options), script);
      expect(one.out).toBe("data\nown");
      const both = await run(
        new BubblewrapNativeRunner({ ...options, layers: ["landlock"] }),
        script,
      );
      expect(both.out).toBe("own");
      expect(both.err).toContain("Permission denied");
      expect(both.result.audits[0]?.layers).toContain("landlock-fs");
    });
  });
});
