/** What is chosen on a host where the strongest does not work, and when nothing does. */

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";

import { createRuntime, RuntimeUnavailableError } from "../../../lib/index.js";
import { testUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

/** Stubs answer --help as it does: what it knows is looked at first. */
const kRealBwrap = "/usr/bin/bwrap";

const kQuiet = { environment: {}, warn: () => {} };

/** A bwrap that answers --help and then fails as the real one does where it may not. */
function brokenBwrap(words = "bwrap: setting up uid map: Permission denied"): string {
  const directory = tempDirectory("stub");
  const path = join(directory, "bwrap");
  writeFileSync(
    path,
    `#!/bin/sh\n[ "$1" = --help ] && exec ${kRealBwrap} --help\necho '${words}' >&2\nexit 1\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

/** One that runs the command and confines nothing: what a canary is for. */
function emptyBwrap(): string {
  const path = join(tempDirectory("stub"), "bwrap");
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --help ] && exec ${kRealBwrap} --help\nexit 0\n`);
  chmodSync(path, 0o755);
  return path;
}

const nothingWorks = (bwrapPath: string) => ({
  bubblewrap: { bwrapPath },
  landlock: { fsReadDirs: ["/not/there"] },
  firejail: { firejailPath: "/not/there/firejail" },
});

describe("auto", () => {
  testUnless(whyNo("landlock"), "takes landlock where bwrap is broken, and says why", async () => {
    const runtime = await createRuntime({ bubblewrap: { bwrapPath: brokenBwrap() } }, kQuiet);
    expect(runtime.name).toBe("landlock");
    expect(runtime.steps).toEqual([
      expect.objectContaining({
        name: "bubblewrap",
        available: false,
        reason: expect.stringContaining("uid map: Permission denied"),
      }),
      { name: "landlock", available: true },
    ]);
    const done = await runtime.execute("echo proven", { workdir: tempDirectory() });
    expect(done).toMatchObject({ stdout: "proven\n", success: true });
    expect(done.audits[0]?.runtime).toBe("landlock");
  });

  testUnless(whyNo("firejail"), "takes firejail where neither other works", async () => {
    const config = { ...nothingWorks(brokenBwrap()), firejail: {} };
    const runtime = await createRuntime(config, kQuiet);
    expect(runtime.name).toBe("firejail");
    expect(runtime.steps.map(({ available }) => available)).toEqual([false, false, true]);
    const done = await runtime.execute("echo proven", { workdir: tempDirectory() });
    expect(done).toMatchObject({ stdout: "proven\n", success: true });
    expect(done.audits[0]?.layers).toEqual(
      expect.arrayContaining(["hidden-files", "read-only-root", "network-namespace"]),
    );
  });

  testUnless(whyNo("bubblewrap"), "takes no other where a value is wrong", async () => {
    const wrong = [
      { bubblewrap: { isolation: "compat", network: { allow: ["a.example"] } } },
      { bubblewrap: { home: "none", caches: ["npm"] } },
    ] as const;
    for (const config of wrong)
      await expect(createRuntime(config, kQuiet)).rejects.toBeInstanceOf(TypeError);
    expect((await createRuntime({ bubblewrap: { caches: ["npm"] } }, kQuiet)).name).toBe(
      "bubblewrap",
    );
  });

  test("refuses where nothing works, with every step, and runs nothing", async () => {
    const config = { ...nothingWorks(brokenBwrap()), allowFallbackToNative: true };
    const environment = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    const refused = createRuntime(config, { environment });
    await expect(refused).rejects.toBeInstanceOf(RuntimeUnavailableError);
    await expect(refused).rejects.toMatchObject({
      code: "ERR_SANDBOX_UNAVAILABLE",
      message: expect.stringMatching(/^no sandbox works here, and one is required \(bubblewrap: /),
      steps: [
        { name: "bubblewrap", available: false },
        { name: "landlock", available: false },
        { name: "firejail", available: false },
      ],
    });
  });

  test("falls back where that is allowed, with a warning and an honest record", async () => {
    const warn = vi.fn();
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    const config = { ...nothingWorks(brokenBwrap()), allowFallbackToNative: true };
    const runtime = await createRuntime(config, { environment: {}, warn });
    expect(runtime.name).toBe("native");
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("without a sandbox"));
    const done = await runtime.execute("echo $PPID", { workdir: tempDirectory() });
    expect(done.audits[0]).toMatchObject({ runtime: "local" });
    expect(done.audits[0]?.layers).not.toContain("mount-namespace");
    emitted.mockRestore();
  });
});

describe("bubblewrap", () => {
  test("that is not there names the package for this distribution", async () => {
    const config = {
      runtimeType: "bubblewrap",
      bubblewrap: { bwrapPath: "no-such-bwrap" },
    } as const;
    const refused = createRuntime(config, kQuiet);
    await expect(refused).rejects.toMatchObject({
      message: expect.stringContaining("no-such-bwrap not found"),
      fix: expect.stringMatching(/bubblewrap$|package bubblewrap /),
      steps: [{ name: "bubblewrap", available: false }],
    });
  });

  test("that does nothing is broken", async () => {
    const config = { runtimeType: "bubblewrap", bubblewrap: { bwrapPath: emptyBwrap() } } as const;
    await expect(createRuntime(config, kQuiet)).rejects.toBeInstanceOf(RuntimeUnavailableError);
  });

  test("is looked at again when asked", async () => {
    const path = join(tempDirectory("stub"), "bwrap");
    const config = { runtimeType: "bubblewrap", bubblewrap: { bwrapPath: path } } as const;
    await expect(createRuntime(config, kQuiet)).rejects.toThrow("not found");
    mkdirSync(path);
    await expect(createRuntime(config, kQuiet)).rejects.toThrow("not found");
    expect(existsSync(path)).toBe(true);
  });
});
