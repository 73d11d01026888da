/** A process that the host itself starts, wrapped by a real bwrap: what it can do, and what not. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import {
  applyProcessSandbox,
  type BubblewrapProcessSandboxOptions,
  createBubblewrapProcessSandbox,
  type ProcessSandbox,
  type ProcessSandboxCommand,
} from "../support/package.js";
import { describeSandboxed, plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kType, kValue } from "../support/wrong-values.js";

const kPath = "/usr/local/bin:/usr/bin:/bin";

function shell(script: string, ...args: string[]): ProcessSandboxCommand {
  return { cmd: "sh", args: ["-c", script, "sh", ...args], env: { PATH: kPath } };
}

type Ended = { status: number | null; out: string; err: string };

function start(command: ProcessSandboxCommand, sandbox?: ProcessSandbox): Ended {
  const { spawn } = applyProcessSandbox({ sandbox, command });
  const env = { ...plainEnvironment(), ...spawn.env };
  const { status, stdout, stderr } = spawnSync(spawn.cmd, spawn.args, {
    ...(spawn.cwd === undefined ? {} : { cwd: spawn.cwd }),
    encoding: "utf8",
    env,
    timeout: kHungMs,
  });
  return { status, out: stdout, err: stderr };
}

function shadow(): { folder: string; mounts: NonNullable<ProcessSandboxCommand["mounts"]> } {
  const folder = tempDirectory("shadow");
  const mount = { kind: "dir", label: "shadow-workspace", hostPath: folder } as const;
  return { folder, mounts: [{ ...mount, guestPath: "/workspace", mode: "rw" }] };
}

describe("the command line", () => {
  const { folder, mounts } = shadow();
  const command = { ...shell("true"), mounts };
  const wrap = (options?: BubblewrapProcessSandboxOptions) =>
    createBubblewrapProcessSandbox(options).wrap(command).args;

  test("binds nothing writable but the shadow directory", () => {
    const args = wrap();
    const at = args.indexOf("--bind");
    expect(args.slice(at, at + 5)).toEqual([
      "--bind",
      folder,
      "/workspace",
      "--chdir",
      "/workspace",
    ]);
    expect(args.filter((word) => /^--(dev-)?bind/.test(word))).toEqual(["--bind"]);
  });

  test("is the contract's, word by word, and takes every option", () => {
    const wasm = { ...command, cmd: "wasmtime", args: ["run", `${folder}/a.wasm`] };
    const cache = {
      kind: "dir",
      label: "home",
      hostPath: "/c",
      guestPath: "/C",
      mode: "ro",
    } as const;
    const end = (at: string) => [
      ...["--bind", folder, "/workspace", "--ro-bind", "/c", "/C"],
      ...["--chdir", at, "wasmtime", "run", "/workspace/a.wasm"],
    ];
    const both = { ...wasm, mounts: [...mounts, cache] };
    const binds = ["/usr", "/bin", "/lib", "/lib64", "/etc"].flatMap((p) => ["--ro-bind", p, p]);
    const own = ["--die-with-parent", "--new-session"];
    const plain = createBubblewrapProcessSandbox({ isolation: "compat" }).wrap(both);
    expect(plain).toEqual({
      cmd: "bwrap",
      args: [
        ...own,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        ...binds,
        ...end("/workspace"),
      ],
      env: wasm.env,
    });
    const options: BubblewrapProcessSandboxOptions = {
      bwrapPath: "/opt/bwrap",
      network: "deny",
      roBinds: ["/b", "/a"],
      procPath: "/p",
      devPath: "/d",
      tmpPath: "/t",
      defaultCwdLabel: "home",
      isolation: "compat",
    };
    expect(createBubblewrapProcessSandbox(options).wrap(both)).toMatchObject({
      cmd: "/opt/bwrap",
      args: [
        ...[...own, "--unshare-net", "--proc", "/p", "--dev", "/d", "--tmpfs", "/t"],
        ...["--ro-bind", "/b", "/b", "--ro-bind", "/a", "/a", ...end("/C")],
      ],
    });
    // Strict only adds: flags before the mounts, no word of these is moved or lost.
    const strict = createBubblewrapProcessSandbox().wrap(both).args;
    let from = 0;
    for (const word of plain.args) {
      const at = strict.indexOf(word, from);
      expect(at, word).toBeGreaterThanOrEqual(from);
      from = at + 1;
    }
    expect(strict.slice(-end("").length)).toEqual(end("/workspace"));
  });

  test("cuts the network only when told to", () => {
    expect(wrap()).not.toContain("--unshare-net");
    expect(wrap({ network: "allow" })).toEqual(wrap());
    expect(wrap({ network: "deny" }).filter((word) => word === "--unshare-net")).toHaveLength(1);
  });

  test("is the same each time, and changes no argument", () => {
    const frozen = Object.freeze({
      ...command,
      args: Object.freeze([...command.args]) as string[],
      mounts: Object.freeze(mounts.map((mount) => Object.freeze({ ...mount }))) as typeof mounts,
    });
    const before = structuredClone(frozen);
    const sandbox = createBubblewrapProcessSandbox({ network: "deny" });
    expect(sandbox.wrap(frozen)).toEqual(sandbox.wrap(frozen));
    expect(frozen).toEqual(before);
  });

  test.each([
    [{ bwrapPath: "bin/bwrap" }, "`bwrapPath`", kValue],
    [{ roBinds: "/usr" }, "`roBinds`", kType],
    [{ roBinds: ["usr"] }, "`roBinds[0]`", kValue],
    [{ network: "none" }, "`network`", kValue],
    [{ procPath: "proc" }, "`procPath`", kValue],
    [{ devPath: "" }, "`devPath`", kValue],
    [{ tmpPath: 1 }, "`tmpPath`", kType],
    [{ defaultCwdLabel: null }, "`defaultCwdLabel`", kType],
    [{ isolation: "loose" }, "`isolation`", kValue],
  ])("option %j is refused", (options, field, code) => {
    const make = () => createBubblewrapProcessSandbox(options as BubblewrapProcessSandboxOptions);
    expect(make).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(field) }),
    );
  });

  const [mount] = mounts;
  test.each([
    [undefined, "`command`", kType],
    [{ cmd: undefined }, "`cmd`", kType],
    [{ cmd: "" }, "`cmd`", kValue],
    [{ args: "x" }, "`args`", kType],
    [{ args: ["a", 1] }, "`args[1]`", kType],
    [{ args: ["a\0b"] }, "`args[0]`", kValue],
    [{ env: { A: 1 } }, "`env.A`", kType],
    [{ cwd: 1 }, "`cwd`", kType],
    [{ mounts: {} }, "`mounts`", kType],
    [{ mounts: [null] }, "`mounts[0]`", kType],
    [{ mounts: [{ ...mount, kind: "file" }] }, "`mounts[0].kind`", kValue],
    [{ mounts: [{ ...mount, mode: "rwx" }] }, "`mounts[0].mode`", kValue],
    [{ mounts: [mount, { ...mount, hostPath: "x" }] }, "`mounts[1].hostPath`", kValue],
    [{ mounts: [{ ...mount, guestPath: undefined }] }, "`mounts[0].guestPath`", kType],
    [{ mounts: [{ ...mount, guestPath: "/a/../b" }] }, "`mounts[0].guestPath`", kValue],
    [{ mounts: [{ ...mount, label: 1 }] }, "`mounts[0].label`", kType],
  ])("command %# is refused", (change, field, code) => {
    const wrong = change && { ...command, ...change };
    const make = () => createBubblewrapProcessSandbox().wrap(wrong as ProcessSandboxCommand);
    expect(make).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(field) }),
    );
  });
});

describeSandboxed("a wrapped process", () => {
  const roBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((path) => existsSync(path));
  const sandbox = createBubblewrapProcessSandbox({ roBinds });

  test("starts in the workspace, writes there, and ends with its own exit code", () => {
    const { folder, mounts } = shadow();
    const command = shell('pwd; cat > "$1"; echo err >&2; exit 7', join(folder, "made"));
    const { status, out, err } = start({ ...command, mounts }, sandbox);
    expect({ status, out, err }).toEqual({ status: 7, out: "/workspace\n", err: "err\n" });
    expect(readFileSync(join(folder, "made"), "utf8")).toBe("");
  });

  test("reads and writes nothing else of the host's; without the wrapper it does", () => {
    const beside = tempDirectory("beside");
    writeFileSync(join(beside, "secret"), "s3cret\n");
    const probe = shell('cat "$1/secret"; (echo x > "$1/new") && echo wrote; echo done', beside);
    const command = { ...probe, mounts: shadow().mounts };
    expect(start(command).out).toBe("s3cret\nwrote\ndone\n");
    expect(start(command, sandbox).out).toBe("done\n");
  });

  test("can't write what is mounted read-only, nor make it writable", () => {
    const { folder, mounts } = shadow();
    const read = mounts.map((mount) => ({ ...mount, mode: "ro" as const }));
    const script =
      "mount -o remount,rw,bind /workspace; (echo x > /workspace/new) && echo wrote; echo done";
    expect(start({ ...shell(script), mounts }, sandbox).out).toBe("wrote\ndone\n");
    expect(readFileSync(join(folder, "new"), "utf8")).toBe("x\n");
    expect(start({ ...shell(script), mounts: read }, sandbox).out).toBe("done\n");
  });

  test("can't change the kernel's settings, as root either", () => {
    const { mounts } = shadow();
    const knob = "/proc/sys/kernel/domainname"; // its own, in its uts namespace
    const script = `cat ${knob} >/dev/null && echo read; (echo x > ${knob}) && echo wrote`;
    expect(start({ ...shell(script), mounts }, sandbox).out).toBe("read\n");
  });

  test("reaches the host's loopback only when the network is allowed", async () => {
    const server = createServer((socket) => socket.on("error", () => {}).end("hello\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as { port: number };
      const script = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && echo connected'; echo done`;
      const command = { ...shell(script), mounts: shadow().mounts };
      expect(start(command, sandbox).out).toBe("connected\ndone\n");
      const denied = createBubblewrapProcessSandbox({ roBinds, network: "deny" });
      expect(start(command, denied).out).toBe("done\n");
    } finally {
      server.close();
    }
  });
});
