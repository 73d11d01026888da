import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { loadRuntimeConfig, parseRuntimeConfig } from "../../../lib/runtime/parse-config.js";

const kDefaults = {
  runtimeType: "auto",
  allowFallbackToNative: false,
  network: "deny",
  required: [],
  landlock: {
    fsReadDirs: ["/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin", "/tmp"],
    fsWriteDirs: ["/tmp"],
    allowReadWorkspace: true,
    allowWriteWorkspace: true,
  },
  firejail: {
    firejailPath: "firejail",
    profile: null,
    fsReadDirs: ["/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"],
    fsWriteDirs: [],
    extraArgs: [],
  },
  bubblewrap: {
    bwrapPath: "bwrap",
    roBinds: ["/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"],
    mounts: [],
    devBind: true,
    procBind: true,
    allowWriteWorkspace: true,
    extraArgs: [],
    isolation: "strict",
    layers: [],
  },
  security: {
    shellAllowlist: [],
    shellAllowlistMode: "off",
    shellBlocklist: [],
    disabledShellRules: [],
  },
};

describe("parseRuntimeConfig", () => {
  it("fills in the defaults, and takes its own result", () => {
    expect(parseRuntimeConfig({})).toEqual(kDefaults);
    expect(parseRuntimeConfig(parseRuntimeConfig({}))).toEqual(kDefaults);
  });

  it("gives every caller lists of its own", () => {
    parseRuntimeConfig({}).landlock.fsReadDirs.push("/root");
    expect(parseRuntimeConfig({}).landlock.fsReadDirs).not.toContain("/root");
  });

  it("accepts snake_case as camelCase", () => {
    const snake = {
      runtime_type: "landlock",
      allow_fallback_to_native: true,
      landlock: { fs_read_dirs: ["/usr"], allow_write_workspace: false },
      firejail: { profile: "/etc/p.profile", extra_args: ["--nodvd"] },
      bubblewrap: {
        ro_binds: ["/usr"],
        mounts: [{ host_path: "/srv", guest_path: "/data", mode: "rw", label: "x" }],
        dev_bind: false,
        proc_bind: false,
      },
      security: { shell_allowlist: ["git"], shell_allowlist_mode: "strict" },
    };
    expect(parseRuntimeConfig(snake)).toMatchObject({
      runtimeType: "landlock",
      allowFallbackToNative: true,
      landlock: { fsReadDirs: ["/usr"], allowWriteWorkspace: false },
      firejail: { profile: "/etc/p.profile", extraArgs: ["--nodvd"] },
      bubblewrap: {
        roBinds: ["/usr"],
        mounts: [{ hostPath: "/srv", guestPath: "/data", mode: "rw", label: "x" }],
        devBind: false,
        procBind: false,
      },
      security: { shellAllowlist: ["git"], shellAllowlistMode: "strict" },
    });
  });

  it.each([
    [{ runtimetype: "auto" }, "Unknown setting `runtimetype`; did you mean `runtimeType`?"],
    [
      { bubblewrap: { ro_bind: [] } },
      "Unknown setting `bubblewrap.ro_bind`; did you mean `roBinds`?",
    ],
    [{ landlok: {} }, "Unknown setting `landlok`; did you mean `landlock`?"],
    [
      { security: { xyzzyquux: 1 } },
      /Unknown setting `security.xyzzyquux`; there are shellAllowlist,/,
    ],
    [{ docker: {} }, /Unknown setting `docker`/],
    [
      { runtime_type: "bubblwrap" },
      /Expected `runtime_type` to be one of auto.*did you mean `bubblewrap`/,
    ],
    [{ network: "off" }, 'Expected `network` to be one of allow, deny, got "off"'],
    [
      { landlock: { fsReadDirs: "/usr" } },
      /`landlock.fsReadDirs` to be an array of strings, got "\/usr"/,
    ],
    [
      { landlock: { fsReadDirs: ["usr"] } },
      /`landlock.fsReadDirs.0` to be an absolute path, got "usr"/,
    ],
    [{ bubblewrap: { mounts: {} } }, /`bubblewrap.mounts` to be an array of objects, got {}/],
    [{ bubblewrap: { mounts: [[]] } }, /`bubblewrap.mounts.0` to be an object/],
    [{ bubblewrap: { mounts: [{ mode: "ro" }] } }, /`bubblewrap.mounts.0.hostPath`/],
    [
      { bubblewrap: { mounts: [{ host_path: "srv", mode: "ro" }] } },
      /`bubblewrap.mounts.0.host_path` to be an absolute path, got "srv"/,
    ],
    [{ bubblewrap: { mounts: [{ hostPath: "/srv" }] } }, /`bubblewrap.mounts.0.mode`/],
    [
      { bubblewrap: { mounts: [{ hostPath: "/srv", mode: "r" }] } },
      /`bubblewrap.mounts.0.mode` to be one of ro, rw, got "r"/,
    ],
    [
      { bubblewrap: { mounts: [{ hostPath: "/srv", mode: "ro", guest: "/x" }] } },
      "Unknown setting `bubblewrap.mounts.0.guest`; did you mean `guestPath`?",
    ],
    [{ landlock: { mounts: [] } }, /Unknown setting `landlock.mounts`/],
    [{ firejail: { mounts: [] } }, /Unknown setting `firejail.mounts`/],
    [{ bubblewrap: { devBind: 1 } }, /`bubblewrap.devBind` to be true or false, got 1/],
    [{ bubblewrap: { extraArgs: ["a\0b"] } }, /without NUL/],
    [{ bubblewrap: [] }, /Expected `bubblewrap` to be an object, got \[\]/],
    [[], /Expected the configuration to be an object/],
    [null, /Expected the configuration to be an object, got null/],
    [{ ro_binds: [], roBinds: [] }, /`ro_binds` and `roBinds` are the same setting/],
  ])("refuses %j", (value, message) => {
    expect(() => parseRuntimeConfig(value)).toThrow(
      expect.objectContaining({ name: "TypeError", code: "ERR_INVALID_ARG_VALUE" }),
    );
    expect(() => parseRuntimeConfig(value)).toThrow(message);
  });

  it("refuses keys that are the prototype's", () => {
    expect(() => parseRuntimeConfig(JSON.parse('{"__proto__": {"network": "allow"}}'))).toThrow(
      /Unknown setting/,
    );
    expect(() => parseRuntimeConfig({ constructor: 1 })).toThrow(/Unknown setting/);
  });
});

describe("loadRuntimeConfig", () => {
  it("reads a file, and names it in what is wrong with it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "native-runner-config-"));
    try {
      const path = join(folder, "runtime.json");
      await writeFile(path, '{"runtime_type": "landlock"}');
      expect(await loadRuntimeConfig(path)).toEqual({ ...kDefaults, runtimeType: "landlock" });
      await writeFile(path, '{"runtime_typ": 1}');
      await expect(loadRuntimeConfig(path)).rejects.toThrow(`${path}: Unknown setting`);
      await writeFile(path, "{");
      await expect(loadRuntimeConfig(path)).rejects.toThrow(`${path}: `);
      const missing = join(folder, "none.json");
      await expect(loadRuntimeConfig(missing)).rejects.toMatchObject({
        code: "ERR_INVALID_ARG_VALUE",
        cause: { code: "ENOENT" },
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
