import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkMounts, checkWorkspace } from "../../lib/cli/checks.js";
import { CliError } from "../../lib/cli/terminal.js";
import { kDefaultCliOptions } from "../support/cli-options.js";

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "native-runner-cli-")));
  writeFileSync(join(folder, "file"), "");
  symlinkSync("/", join(folder, "root"));
  symlinkSync(folder, join(folder, "self"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function refused(check: () => unknown): CliError {
  try {
    check();
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

const workspace = (path: string, workspaceIsRoot = false) =>
  checkWorkspace({ ...kDefaultCliOptions, workspace: path, workspaceIsRoot });

describe("checkWorkspace", () => {
  it("gives the real path", () => {
    expect(workspace(join(folder, "self"))).toBe(folder);
  });

  it.each(["/", "//", "/tmp/..", "/proc/self/root", "root"])("refuses the root as %s", (path) => {
    const error = refused(() => workspace(path === "root" ? join(folder, path) : path));
    expect(error.exitCode).toBe(2);
    expect(error.message).toContain("is the root directory");
    expect(error.fix).toContain("--workspace-is-root");
  });

  it("takes the root with consent", () => {
    expect(workspace("/", true)).toBe("/");
  });

  it.each([
    ["nope", "it does not exist"],
    ["file", "it is a file"],
  ])("refuses %s, and says why once", (name, why) => {
    const error = refused(() => workspace(join(folder, name)));
    expect(error.exitCode).toBe(125);
    expect(error.message).toBe(`--workspace ${join(folder, name)} is no directory: ${why}`);
  });
});

describe("checkMounts", () => {
  it("names the option of a path that the host lacks", () => {
    const error = refused(() => checkMounts({ roBind: [folder, join(folder, "nope")] }));
    expect(error).toMatchObject({ exitCode: 125, fix: "leave it out, or create it" });
    expect(error.message).toMatch(/^--ro-bind names ".*nope", which this host lacks$/);
    expect(() => checkMounts({ roBind: [folder] })).not.toThrow();
    const mount = (hostPath: string) => [{ hostPath, mode: "ro" }] as const;
    const other = refused(() => checkMounts({ mount: [...mount(join(folder, "nope"))] }));
    expect(other.message).toMatch(/^--mount names ".*nope", which this host lacks$/);
    expect(() => checkMounts({ mount: [...mount(folder)] })).not.toThrow();
    expect(() => checkMounts({})).not.toThrow();
  });
});
