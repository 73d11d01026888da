/** Which directories a caller gets as its workspace, and that nothing else is mounted in their place. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { Refusal } from "../../../../lib/remote/policy/checked.js";
import { type HeldWorkspace, Workspaces } from "../../../../lib/remote/policy/workspace-place.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { BubblewrapNativeRunner } from "../../support/package.js";
import { describeSandboxed } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";

let root = "";
let outside = "";
beforeEach(() => {
  root = tempDirectory("workspaces");
  outside = tempDirectory("outside");
  for (const each of ["a/w/deep", "b/w", "plain"])
    mkdirSync(path.join(root, each), { recursive: true });
  writeFileSync(path.join(outside, "secret"), "");
  writeFileSync(path.join(root, "a/file"), "");
  symlinkSync(outside, path.join(root, "a/link"));
  symlinkSync("w", path.join(root, "a/inner"));
  symlinkSync(path.join(root, "b"), path.join(root, "a/w/other"));
});

async function held(tenant: string, asked: string): Promise<HeldWorkspace> {
  const found = await new Workspaces(root).open(tenant, asked);
  if (found instanceof Refusal) throw new Error(found.message);
  return found;
}
const messageOf = async (tenant: string, asked: unknown) => {
  const found = await new Workspaces(root).open(tenant, asked);
  if (found instanceof Refusal) return found.message;
  await found.close();
  return `${found.path} is let through`;
};

describe("what is let through", () => {
  test.each([
    ["default", "plain"],
    ["default", "a/w/deep"],
    ["a", "a/w"],
    ["a", "a//w/./deep/"],
    ["b", "b/w"],
  ])("tenant %s: %s", async (tenant, asked) => {
    const workspace = await held(tenant, `${root}/${asked}`);
    expect(readlinkSync(workspace.shadowDir)).toBe(path.join(root, asked).replace(/\/$/, ""));
    expect(workspace.path).toBe(path.join(root, asked).replace(/\/$/, ""));
    await workspace.close();
  });

  test("links of the operator's, in the root itself", async () => {
    const link = path.join(outside, "to-root");
    symlinkSync(root, link);
    const found = await new Workspaces(link).open("a", `${link}/a/w`);
    if (found instanceof Refusal) throw new Error(found.message);
    expect(readlinkSync(found.shadowDir)).toBe(path.join(root, "a/w"));
    await found.close();
  });
});

describe("what is refused", () => {
  test.each([
    ["default", "", "below ROOT"],
    ["a", "a", "below ROOT/a"],
    ["a", "b/w", "below ROOT/a"],
    ["a", "b/is-not-there", "below ROOT/a"],
    ["a", "plain", "below ROOT/a"],
    ["a", "ab", "below ROOT/a"],
    ["a", "a/../b/w", "a path without '..'"],
    ["default", "../elsewhere", "a path without '..'"],
    ["a", "a/none", "a directory that is there on the worker"],
    ["c", "c/w", "a directory that is there on the worker"],
    ["a", "a/file", "a path of directories, through no symbolic link"],
    ["a", "a/file/w", "a path of directories, through no symbolic link"],
    ["a", "a/link", "a path of directories, through no symbolic link"],
    ["a", "a/link/below", "a path of directories, through no symbolic link"],
    ["a", "a/inner", "a path of directories, through no symbolic link"],
    ["a", "a/w/other/w", "a path of directories, through no symbolic link"],
    ["a", `a/${"x".repeat(300)}`, "a path that is not too long"],
  ])("tenant %s: %s", async (tenant, asked, expected) => {
    const wanted = expected.replace("ROOT", root);
    expect(await messageOf(tenant, `${root}/${asked}`)).toContain(
      `Expected \`workspace\` to be ${wanted}, got`,
    );
  });

  test.each([undefined, null, 1, {}, "", "a/w", "w\0", "/etc"])("%j", async (asked) => {
    expect(await messageOf("a", asked)).toMatch(
      /^Expected `workspace` to be (an absolute path|below)/,
    );
  });

  test("leaves no descriptor behind", async () => {
    const count = () => readdirSync("/proc/self/fd").length;
    await messageOf("a", `${root}/a/link`);
    const before = count();
    for (let i = 0; i < 20; i += 1)
      await messageOf("a", `${root}/a/${i % 2 === 0 ? "w" : "link/x"}`);
    expect(count()).toBe(before);
  });

  test("a tenant that is none is a mistake of the caller's here", async () => {
    for (const tenant of ["", "..", "a/b", "a.b"]) {
      await expect(new Workspaces(root).open(tenant, root)).rejects.toThrow(
        "Expected `tenant` to be a name",
      );
    }
    expect(() => new Workspaces("relative")).toThrow("an absolute path");
  });
});

test("a link that comes and goes on the way never leads out", async () => {
  const middle = path.join(root, "a/w");
  mkdirSync(path.join(outside, "deep"));
  const swap = fileURLToPath(new URL("./swap-directory-and-link.mjs", import.meta.url));
  const child = spawn(kNodeProgram, [swap, middle, outside], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const asked = path.join(middle, "deep");
  const workspaces = new Workspaces(root);
  const seen = { led: 0, held: 0, refused: 0 };
  try {
    // Until both have been met: the swap has to be seen to lead out where links are followed.
    for (let i = 0; i < 200_000 && (seen.led < 20 || seen.held < 100); i += 1) {
      const plain = await open(asked, "r").catch(() => undefined);
      if (plain && !readlinkSync(`/proc/self/fd/${plain.fd}`).startsWith(root)) seen.led += 1;
      await plain?.close();
      const found = await workspaces.open("a", asked);
      if (found instanceof Refusal) {
        seen.refused += 1;
        continue;
      }
      expect(readlinkSync(found.shadowDir).startsWith(root)).toBe(true);
      seen.held += 1;
      await found.close();
    }
  } finally {
    child.stdin.end();
    await once(child, "exit");
  }
  expect(seen.led).toBeGreaterThanOrEqual(20);
  expect(seen.held).toBeGreaterThanOrEqual(100);
}, 120_000);

describeSandboxed("a runner on a workspace that is held", () => {
  const kList = ["ls"];

  test("works on the directory that was checked, wherever it is by then", async () => {
    const workspace = await held("a", `${root}/a/w`);
    const runner = new BubblewrapNativeRunner({
      shadowDir: workspace.shadowDir,
      required: ["seccomp"],
    });
    try {
      const first = await runner.exec({ argv: ["touch", "mine"] });
      expect(first.outcome).toEqual({ kind: "exited" });
      expect(first.audits[0]?.argv).toContain(path.join(root, "a/w"));

      renameSync(path.join(root, "a/w"), path.join(root, "a/moved"));
      symlinkSync(outside, path.join(root, "a/w"));
      // Cold, cloned and prewarmed ones.
      for (let i = 0; i < 6; i += 1) {
        const { stdoutText, audits } = await runner.exec({ argv: kList });
        expect(stdoutText).toBe("deep\nmine\nother\n");
        expect(audits[0]?.argv).toContain(path.join(root, "a/moved"));
      }
      const session = await runner.openSession();
      expect((await session.exec({ argv: kList })).stdoutText).toBe("deep\nmine\nother\n");
      await session.close();
      await runner.files.write("written", "x");
      expect(readdirSync(path.join(root, "a/moved"))).toContain("written");
      expect(readdirSync(outside)).toEqual(["secret"]);
    } finally {
      await runner.close();
      await workspace.close();
    }
  });

  test("has transactions, which refuse what was put in its place", async () => {
    const workspace = await held("a", `${root}/a/w`);
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace.shadowDir });
    const directory = tempDirectory("transactions");
    const real = path.join(root, "a/w");
    try {
      const kept = await runner.openTransaction({ directory });
      await kept.exec({ argv: ["touch", "new"] });
      expect((await runner.transactions({ directory })).map((each) => each.workspace)).toEqual([
        real,
      ]);
      await kept.commit(); // the control
      expect(readdirSync(real)).toContain("new");

      await kept.exec({ argv: ["touch", "newer"] });
      renameSync(real, `${real}.moved`);
      symlinkSync(outside, real);
      await expect(kept.commit()).rejects.toThrow("was replaced");
      expect(readdirSync(outside)).toEqual(["secret"]);
    } finally {
      await runner.close();
      await workspace.close();
    }
  });
});
