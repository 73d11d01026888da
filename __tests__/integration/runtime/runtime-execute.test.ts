/** What every runtime does with a shell command, for each that works here. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { availableRuntimes, createRuntime, type RuntimeName } from "../../../lib/index.js";
import { availabilityOf, describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kQuiet = { environment: {}, warn: () => {} };
const kAll: readonly RuntimeName[] = ["bubblewrap", "landlock", "firejail", "native"];

for (const name of kAll) {
  describeRuntime(name, () => {
    const make = (config = {}) => createRuntime({ ...config, runtimeType: name }, kQuiet);

    test("runs a command line, in the work directory, and tells all", async () => {
      const runtime = await make();
      const workdir = tempDirectory();
      const done = await runtime.execute("echo $A; echo no >&2; echo x > made; exit 3", {
        workdir,
        env: { A: "hi there" },
      });
      expect(done).toMatchObject({
        stdout: "hi there\n",
        exitCode: 3,
        success: false,
        outcome: { kind: "exited" },
        warnings: [],
      });
      expect(done.stderr).toContain("no\n");
      expect(done.format()).toMatch(/^hi there\n\n--- stderr ---\n(.*\n)*no\n\n\[Exit code: 3\]$/);
      expect(done.audits[0]?.runtime).toBe(name === "native" ? "local" : name);
      expect((await runtime.execute("cat made", { workdir })).stdout).toBe("x\n");
    });

    test("takes a command that looks like an option as a command", async () => {
      const done = await (await make()).execute("-x", { workdir: tempDirectory() });
      expect(done.exitCode).toBe(127);
    });

    test("ends at the deadline, without an exit code", async () => {
      const options = { workdir: tempDirectory(), timeoutSecs: 3 }; // a firejail takes its time on a busy machine
      const done = await (await make()).execute("echo a; sleep 100", options);
      expect(done).toMatchObject({ stdout: "a\n", exitCode: null, success: false });
      expect(done.format()).toContain("[No exit code: timed-out]");
    });

    test("resolves when the work directory is not there, and nothing ran", async () => {
      const done = await (await make()).execute("echo ran", { workdir: "/not/there" });
      expect(done).toMatchObject({ exitCode: null, stdout: "", outcome: { kind: "setup-failed" } });
      expect(done.stderr).toContain("/not/there");
    });

    test("says which layers were in force, the same in the proof and in a run", async () => {
      const runtime = await make();
      const found = await runtime.isAvailable();
      expect(found).toMatchObject({ available: true, state: "available" });
      const done = await runtime.execute("true", { workdir: tempDirectory() });
      expect(done.audits[0]?.layers).toEqual(found.layers);
    });

    test("is tried with every probe, and none gets through", async () => {
      const { probes } = availabilityOf(name);
      const bad = probes.filter(({ verdict }) => verdict === "reached" || verdict === "unproved");
      expect(bad).toEqual([]);
      expect(probes).toHaveLength(name === "native" ? 0 : 5);
    });

    test("lets the network through where the policy does, and is available still", async () => {
      const found = await (await make({ network: "allow" })).isAvailable();
      expect(found.available).toBe(true);
      for (const probe of found.probes.filter((each) => each.name.startsWith("reach-"))) {
        expect(probe.verdict).toBe("granted");
      }
    });

    test("makes runners for commands without a shell", async () => {
      const runner = (await make()).runner({ shadowDir: tempDirectory() });
      const result = await runner.exec({ argv: ["printf", "%s", "a;b"] });
      expect(new TextDecoder().decode(result.stdout)).toBe("a;b");
    });
  });
}

for (const name of ["bubblewrap", "landlock", "firejail"] as const) {
  describeRuntime(name, () => {
    test("lets a mount be read, and written only where that is said", async () => {
      const runtime = await createRuntime({ runtimeType: name }, kQuiet);
      const data = tempDirectory("data", "/var/tmp");
      writeFileSync(join(data, "file"), "content\n");
      const workdir = tempDirectory();
      const attempt = `cat ${data}/file; echo x > ${data}/new && echo wrote`;
      const hidden = await runtime.execute(attempt, { workdir });
      expect(hidden.stdout).toBe("");
      const ro = await runtime.execute(attempt, { workdir, mounts: [{ hostPath: data }] });
      expect(ro.stdout).toBe("content\n");
      const mounts = [{ hostPath: data, mode: "rw" }] as const;
      const rw = await runtime.execute(attempt, { workdir, mounts });
      expect(rw.stdout).toBe("content\nwrote\n");
      expect(existsSync(join(data, "new"))).toBe(true);
    });

    test("refuses what lacks a required layer, and names it", async () => {
      const config = { runtimeType: name, required: ["no-such-layer"] } as const;
      await expect(createRuntime(config, kQuiet)).rejects.toMatchObject({
        message: expect.stringContaining("no-such-layer"),
        fix: expect.stringContaining("`required`"),
      });
    });
  });
}

/** What agents run every day, and the built-in list objects to; what each prints. */
const kDaily: [line: string, out: string][] = [
  ["python3 -c 'print(6 * 7)'", "42\n"],
  ["python3 - <<'END'\nprint(6 * 7)\nEND", "42\n"],
  ["perl -e 'print 42'", "42"],
  ["printf 41 > count && perl -pi -e 's/1/2/' count && cat count", "42"],
];

for (const name of kAll) {
  describeRuntime(name, () => {
    test.each(kDaily)(
      "runs %j and warns in a sandbox, unless an operator's list refuses it",
      async (line, out) => {
        const workdir = tempDirectory();
        const make = (security = {}) => createRuntime({ runtimeType: name, security }, kQuiet);
        const refused = { code: "ERR_COMMAND_BLOCKED", cause: { rule: expect.any(String) } };
        if (name === "native") {
          await expect((await make()).execute(line, { workdir })).rejects.toMatchObject(refused);
        } else {
          const done = await (await make()).execute(line, { workdir });
          expect(done).toMatchObject({ stdout: out, exitCode: 0 });
          expect(done.warnings).toMatchObject([
            { rule: expect.stringMatching(/^inline-code|stdin/) },
          ]);
          expect(
            (await (await make()).execute("echo 42", { workdir })).warnings,
            "control",
          ).toEqual([]);
        }
        const listed = await make({ shellBlocklist: ["some-command"] });
        await expect(listed.execute(line, { workdir })).rejects.toMatchObject(refused);
        expect((await listed.execute("echo 42", { workdir })).stdout).toBe("42\n");
      },
    );
  });
}

describe("a runtime that can't be had", () => {
  test("is an error that says why, for each that does not work here", async () => {
    for (const { name, available, reason = "" } of await availableRuntimes({}, kQuiet)) {
      if (available) continue;
      expect(reason).not.toBe("");
      await expect(createRuntime({ runtimeType: name }, kQuiet)).rejects.toThrow(reason);
    }
  });
});

describeRuntime("bubblewrap", () => {
  const make = (extraArgs: string[], required: string[] = []) =>
    createRuntime({ runtimeType: "bubblewrap", bubblewrap: { extraArgs }, required }, kQuiet);

  test("with an argument that opens it works, and the record says so", async () => {
    const found = await (await make(["--share-net"])).isAvailable();
    expect(found.layers).toContain("opened:--share-net");
    expect(found.layers).not.toContain("network-namespace");
    expect(found.probes.find(({ name }) => name === "reach-tcp")?.verdict).toBe("granted");
  });

  test("with one that takes away what is required does not", async () => {
    const refused = make(["--share-net"], ["network-namespace"]);
    await expect(refused).rejects.toThrow(/network-namespace.*--share-net/);
  });

  test("with a mount of one's own is no escape", async () => {
    const found = await (await make(["--bind", "/var/tmp", "/var/tmp"])).isAvailable();
    expect(found.available).toBe(true);
  });
});
