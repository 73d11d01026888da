/**
 * Storage that does not answer: a FUSE mount whose server never reads a request. In a mount namespace of our own, so
 * that it goes with the host program; the kernel wakes all that wait for it when the last descriptor of it is closed.
 */

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import { describeUnless, isRoot, plainEnvironment, whyNoBindFd } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kApart = isRoot ? ["unshare", "-m"] : ["unshare", "-U", "-r", "-m"];
const kOptions = "fd=3,rootmode=40000,user_id=0,group_id=0";
const kMounted = `exec 3<>/dev/fuse && mount -i -t fuse -o ${kOptions} hung "$0"`;
/** Files of it are waited for for 30 seconds. */
const kMostMs = kHungMs + 30_000;
const kProgram = fileURLToPath(new URL("../hosts/hung-storage.mjs", import.meta.url));

function whyNot(): string | undefined {
  if (whyNoBindFd !== undefined) return whyNoBindFd;
  const [program = "", ...apart] = kApart;
  const script = `${kMounted} && grep -q " hung " /proc/self/mountinfo`;
  const args = [...apart, "sh", "-c", script, tempDirectory("hung", "/var/tmp")];
  const tried = spawnSync(program, args, { encoding: "utf8", timeout: kHungMs });
  return tried.status === 0 ? undefined : `no FUSE mounts: ${tried.error ?? tried.stderr}`;
}

type End = { kind?: string; code?: string; reason?: string; fix?: string; out?: string };
type Said = { what: string; end?: End; ends?: End[]; order?: string[] };

/** What the host says, until it ends or hangs. */
async function said(): Promise<{ hung: string; told: Map<string, Said>; status: number | null }> {
  const home = tempDirectory("home", "/var/tmp");
  const hung = join(home, "hung");
  mkdirSync(hung);
  const [program = "", ...apart] = kApart;
  const script = `${kMounted} && { "$@" 3<&-; }`;
  const host = [...kNodeInside, kProgram, hung, home, tempDirectory("work", "/var/tmp")];
  const landlock = whyNo("landlock") === undefined ? { WITH_LANDLOCK: "1" } : {};
  const firejail = whyNo("firejail") === undefined ? { WITH_FIREJAIL: "1" } : {};
  const ran = spawn(program, [...apart, "sh", "-c", script, hung, ...host], {
    detached: true,
    env: { ...plainEnvironment(), ...landlock, ...firejail },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const late = setTimeout(() => process.kill(-(ran.pid ?? 0), "SIGKILL"), kMostMs);
  const ended = new Promise<number | null>((resolve) => ran.on("close", resolve));
  const lines = (await text(ran.stdout)).split("\n").filter((line) => line !== "");
  const status = await ended;
  clearTimeout(late);
  const all = lines.map((line) => JSON.parse(line) as Said);
  return { hung, told: new Map(all.map((each) => [each.what, each])), status };
}

describeUnless(whyNot(), "storage that does not answer", () => {
  test(
    "fails what needs it with its path, and holds up nothing else",
    async () => {
      const { hung, told, status } = await said();
      const failed = { kind: "setup-failed", fix: expect.any(String), out: "" };
      const ran = { kind: "exited", out: "ran\n" };
      const named = expect.stringContaining(hung);
      expect(told.get("sound beside")?.end).toMatchObject(ran);
      const { ends = [], order } = told.get("hung") ?? {};
      expect(ends.length).toBeGreaterThanOrEqual(8);
      for (const end of ends) expect(end).toMatchObject({ ...failed, reason: named });
      expect(order?.[0]).toBe("sound");
      for (const end of told.get("Bwrap of it")?.ends ?? [{}]) {
        expect(end).toMatchObject({ code: "ERR_SANDBOX_SETUP", reason: named });
      }
      expect(told.get("process sandbox")?.end?.out).toContain(`--ro-bind ${hung} /hung`);
      expect(told.get("Bwrap beside")?.end).toEqual({ out: "ran\n" });
      const secret = { code: "ERR_SANDBOX_SETUP", reason: named };
      expect(told.get("secret")?.end).toMatchObject(secret);
      const without = { kind: "exited", out: "none\n" };
      // In a user namespace the host's root directory is another user's, so that none of its tools is shown.
      const withTool = isRoot ? { kind: "exited", out: "tool\n" } : without;
      expect(told.get("tools")?.ends).toMatchObject([withTool, without, without, withTool]);
      const linked = isRoot ? { kind: "exited", out: "linked\n" } : without;
      expect(told.get("linked")?.end).toMatchObject(linked);
      expect(told.get("homes")?.ends).toMatchObject([
        ran,
        ran,
        { ...failed, reason: named },
        { ...failed, reason: named },
      ]);
      expect(told.get("session")?.end).toMatchObject(ran);
      expect(told.get("runtime")?.end).toMatchObject({ kind: "bubblewrap" });
      expect(told.get("files beside")?.end).toEqual({ out: "written" });
      const unread = told.get("files")?.ends ?? [];
      expect(unread).toHaveLength(11);
      for (const end of unread) {
        expect(end).toMatchObject({ code: "ERR_SANDBOX_SETUP", reason: named });
      }
      expect(told.has("end")).toBe(true);
      expect(status).toBe(0);
    },
    2 * kHungMs,
  );
});
