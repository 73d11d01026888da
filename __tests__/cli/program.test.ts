import { resolve } from "node:path";
import { CommanderError } from "commander";
import { describe, expect, it, vi } from "vitest";

import { type Actions, createProgram } from "../../lib/cli/program.js";
import { kDefaultCliOptions } from "../support/cli-options.js";

type Call = { action: keyof Actions; command: string[]; options: unknown };

async function parse(...words: string[]): Promise<Call> {
  const calls: Call[] = [];
  const program = createProgram("1.2.3", {
    run: async (command, options) => void calls.push({ action: "run", command, options }),
    explain: async (command, options) => void calls.push({ action: "explain", command, options }),
    learn: async (command, options) => void calls.push({ action: "learn", command, options }),
    why: async (command, options) => void calls.push({ action: "why", command, options }),
    doctor: async (options) => void calls.push({ action: "doctor", command: [], options }),
    mcp: async (options) => void calls.push({ action: "mcp", command: [], options }),
    worker: async (options) => void calls.push({ action: "worker", command: [], options }),
    brokerConfig: async (options) =>
      void calls.push({ action: "brokerConfig", command: [], options }),
    doctorWorker: async (options) =>
      void calls.push({ action: "doctorWorker", command: [], options }),
    doctorBroker: async (options) =>
      void calls.push({ action: "doctorBroker", command: [], options }),
    workersList: async (options) =>
      void calls.push({ action: "workersList", command: [], options }),
    workersOperate: async (what, named, options) =>
      void calls.push({
        action: "workersOperate",
        command: [what, ...named.map(({ pool, name }) => `${pool}/${name}`)],
        options,
      }),
    review: async () => {},
    runSkill: async (path, options) =>
      void calls.push({ action: "runSkill", command: [path], options }),
    homeList: async (options) => void calls.push({ action: "homeList", command: [], options }),
    homeClear: async (command, options) =>
      void calls.push({ action: "homeClear", command: [...command], options }),
    imagePull: async (reference, options) =>
      void calls.push({ action: "imagePull", command: [reference], options }),
    imageList: async (options) => void calls.push({ action: "imageList", command: [], options }),
    imagePrune: async (options) => void calls.push({ action: "imagePrune", command: [], options }),
    txList: async (options) => void calls.push({ action: "txList", command: [], options }),
    txPrune: async (options) => void calls.push({ action: "txPrune", command: [], options }),
    txShow: async (id, options) => void calls.push({ action: "txShow", command: [id], options }),
    txDiff: async (id, other, options) =>
      void calls.push({ action: "txDiff", command: other ? [id, other] : [id], options }),
    txFork: async (id, options) => void calls.push({ action: "txFork", command: [id], options }),
    txMerge: async (id, from, options) =>
      void calls.push({ action: "txMerge", command: [id, from], options }),
    txAdopt: async (id, from, options) =>
      void calls.push({ action: "txAdopt", command: [id, from], options }),
    txCommit: async (id, options) =>
      void calls.push({ action: "txCommit", command: [id], options }),
    txUndo: async (id, options) => void calls.push({ action: "txUndo", command: [id], options }),
    txDiscard: async (id, options) =>
      void calls.push({ action: "txDiscard", command: [id], options }),
    auditVerify: async (path, options) =>
      void calls.push({ action: "auditVerify", command: [path], options }),
    auditHead: async (path, options) =>
      void calls.push({ action: "auditHead", command: [path], options }),
    auditShow: async (path, options) =>
      void calls.push({ action: "auditShow", command: [path], options }),
    auditExport: async (path, options) =>
      void calls.push({ action: "auditExport", command: [path], options }),
  });
  await program.parseAsync(words, { from: "user" });
  const [call] = calls;
  if (!call) throw new Error("no action was called");
  return call;
}

/** What the parser writes for a command line that it does not accept. */
async function complaint(...words: string[]): Promise<string> {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    await expect(parse(...words)).rejects.toThrow(CommanderError);
    return write.mock.calls.map(([text]) => String(text)).join("");
  } finally {
    write.mockRestore();
  }
}

describe("the command", () => {
  it("is what follows --, unchanged, also where it looks like options", async () => {
    const command = ["bash", "-c", "echo --", "--", "--json", "-h", ""];
    expect(await parse("run", "--", ...command)).toEqual({
      action: "run",
      command,
      options: kDefaultCliOptions,
    });
  });

  it("ends the options without -- too", async () => {
    const call = await parse("run", "--json", "ls", "--timeout", "1s", "--json");
    expect(call.command).toEqual(["ls", "--timeout", "1s", "--json"]);
    expect(call.options).toEqual({ ...kDefaultCliOptions, json: true });
  });
});

describe.each(["run", "explain"] as const)("%s", (action) => {
  it("reads every option", async () => {
    const words = `-w dir --workspace-is-root --runtime auto --config c.json --cwd sub --network allow --ro-bind /opt --ro-bind ./x --mount /srv:/data:rw --mount /srv --device nvidia:0 --device /dev/kvm
      --no-default-ro-binds --env A=1 -e B=x=y --env-policy PATH,HOME --timeout 500ms
      --max-output 2M --memory 512M --cpu 10s --max-processes 7 --max-open-files 8 --max-file 1G
      --max-write 3G --reserve 4G --cpu-share 9 --io-share 10
      --isolation compat --bwrap /usr/bin/bwrap --no-stdin --json`;
    const call = await parse(action, ...words.split(/\s+/), "--", "ls");
    expect(call).toEqual({
      action,
      command: ["ls"],
      options: {
        workspace: "dir",
        workspaceIsRoot: true,
        runtime: "auto",
        config: "c.json",
        cwd: "sub",
        network: "allow",
        roBind: ["/opt", "./x"],
        mount: [
          { hostPath: "/srv", guestPath: "/data", mode: "rw" },
          { hostPath: "/srv", mode: "ro" },
        ],
        device: ["nvidia:0", "/dev/kvm"],
        defaultRoBinds: false,
        env: [
          ["A", "1"],
          ["B", "x=y"],
        ],
        envPolicy: ["PATH", "HOME"],
        timeout: 500,
        maxOutput: 2 * 1024 ** 2,
        memory: 512 * 1024 ** 2,
        cpu: 10_000,
        maxProcesses: 7,
        maxOpenFiles: 8,
        maxFile: 1024 ** 3,
        maxWrite: 3 * 1024 ** 3,
        reserve: 4 * 1024 ** 3,
        cpuShare: 9,
        ioShare: 10,
        isolation: "compat",
        bwrap: "/usr/bin/bwrap",
        stdin: false,
        json: true,
      },
    });
  });

  it("starts anew for each parser: repeatable options do not pile up", async () => {
    await parse(action, "--env", "A=1", "--ro-bind", "/opt", "--", "ls");
    expect((await parse(action, "--", "ls")).options).toEqual(kDefaultCliOptions);
  });
});

describe("--runtime", () => {
  it("is an option of run, explain and doctor", async () => {
    for (const name of ["run", "explain"]) {
      const { options } = await parse(name, "--runtime", "landlock", "--", "ls");
      expect(options).toEqual({ ...kDefaultCliOptions, runtime: "landlock" });
    }
    const call = await parse("doctor", "--runtime", "auto", "--json", "--config", "x.json");
    expect(call.options).toEqual({ runtime: "auto", json: true, config: "x.json" });
    expect((await parse("doctor")).options).toEqual({});
  });
});

describe("transactions", () => {
  it.each(["run", "explain"] as const)("have their options in %s", async (name) => {
    const words = `--transaction --commit --allow-protected .envrc --allow-protected .vscode
      --state-directory /s`;
    const { options } = await parse(name, ...words.split(/\s+/), "--", "ls");
    expect(options).toEqual({
      ...kDefaultCliOptions,
      transaction: true,
      commit: true,
      allowProtected: [".envrc", ".vscode"],
      stateDirectory: "/s",
    });
    const discards = await parse(name, "--transaction", "--discard", "--", "ls");
    expect(discards.options).toMatchObject({ transaction: true, discard: true });
  });

  it.each([
    ["list", "txList"],
    ["show", "txShow"],
    ["diff", "txDiff"],
    ["commit", "txCommit"],
    ["undo", "txUndo"],
    ["discard", "txDiscard"],
    ["fork", "txFork"],
  ])("are what tx %s is about", async (name, action) => {
    const id = name === "list" ? [] : ["4be8"];
    const place = ["--state-directory", "s", "--json"];
    const call = await parse("tx", name, ...id, ...place);
    const options = { stateDirectory: "s", json: true };
    expect(call).toEqual({ action, command: id, options });
  });

  it("may be of two: diff, merge and adopt", async () => {
    const paths = ["--paths", "src"];
    expect(await parse("tx", "diff", "4be8", "a01c")).toMatchObject({ command: ["4be8", "a01c"] });
    expect(
      await parse("tx", "merge", "4be8", "a01c", "--on-conflict", "ours", ...paths),
    ).toMatchObject({
      action: "txMerge",
      command: ["4be8", "a01c"],
      options: { onConflict: "ours", paths: ["src"] },
    });
    expect(await parse("tx", "adopt", "4be8", "a01c")).toMatchObject({ action: "txAdopt" });
    expect((await parse("tx", "fork", "4be8", "--count", "3")).options).toEqual({ count: 3 });
  });

  it("may be of some paths, and of protected ones", async () => {
    const paths = ["--paths", "src", "--paths", "a b"];
    for (const name of ["show", "diff", "commit"]) {
      const { options } = await parse("tx", name, ...paths, "4be8");
      expect(options).toEqual({ paths: ["src", "a b"] });
    }
    const { options } = await parse("tx", "commit", "4be8", "--allow-protected", ".envrc");
    expect(options).toEqual({ allowProtected: [".envrc"] });
  });
});

describe("homes", () => {
  it("can be chosen", async () => {
    for (const word of ["none", "private", "kept"]) {
      const { options } = await parse("run", "--home", word, "--", "ls");
      expect(options).toMatchObject({ home: word });
    }
    const { options } = await parse("run", "--home", "./a/../b", "--", "ls");
    expect(options).toMatchObject({ home: { directory: resolve("b") } });
  });

  it("are listed and cleared", async () => {
    const list = await parse("home", "list", "--json");
    expect(list).toEqual({ action: "homeList", command: [], options: { json: true } });
    const some = await parse("home", "clear", "a1", "/srv/x");
    expect(some).toEqual({ action: "homeClear", command: ["a1", "/srv/x"], options: {} });
    const all = await parse("home", "clear", "--all");
    expect(all).toEqual({ action: "homeClear", command: [], options: { all: true } });
  });
});

describe("images", () => {
  it("are pulled, listed and pruned", async () => {
    const pull = await parse(
      "image",
      "pull",
      "--tls-verify=false",
      "--max-size",
      "1G",
      "a.test/b:1",
    );
    const options = { tlsVerify: "false", maxSize: 2 ** 30 };
    expect(pull).toEqual({ action: "imagePull", command: ["a.test/b:1"], options });
    const list = await parse("image", "list", "--json", "--state-directory", "/s");
    expect(list).toMatchObject({
      action: "imageList",
      options: { json: true, stateDirectory: "/s" },
    });
    const prune = await parse("image", "prune", "--older-than", "30d", "--dry-run");
    expect(prune).toMatchObject({
      action: "imagePrune",
      options: { dryRun: true, olderThan: 30 * 86_400_000 },
    });
  });
});

describe("skill run", () => {
  const kDefaults = { tier: "untrusted", input: "", timeout: 30_000, engine: "auto" };

  it("is untrusted when nothing is said", async () => {
    const call = await parse("skill", "run", "a.wasm");
    expect(call).toEqual({ action: "runSkill", command: ["a.wasm"], options: kDefaults });
  });

  it("has its options", async () => {
    const { options } = await parse(
      ...["skill", "run", "--tier", "verified", "-i", "-", "--memory", "64M", "-t", "500ms"],
      ...["--fuel", "9", "--max-output", "2M", "--engine", "wasmtime", "--runtime", "landlock"],
      ...["--strict-limits", "--json", "a.wasm"],
    );
    expect(options).toEqual({
      tier: "verified",
      input: "-",
      memory: 64 * 1024 ** 2,
      timeout: 500,
      fuel: 9,
      maxOutput: 2 * 1024 ** 2,
      engine: "wasmtime",
      runtime: "landlock",
      strictLimits: true,
      json: true,
    });
  });
});

describe("misuse", () => {
  it.each([
    [["run"], /missing required argument/],
    [["run", "--"], /missing required argument/],
    [["run", "--netwrk", "deny", "--", "ls"], /unknown option '--netwrk' \(Did you mean --network/],
    [["run", "--network", "maybe", "--", "ls"], /maybe/],
    [["run", "--isolation", "none", "--", "ls"], /none/],
    [["run", "--timeout", "0", "--", "ls"], /--timeout.*duration above 0/],
    [["run", "--cpu", "none", "--", "ls"], /--cpu/],
    [["run", "--memory", "lots", "--", "ls"], /--memory.*size/],
    [["run", "--max-processes", "-1", "--", "ls"], /--max-processes/],
    [["run", "--env", "=x", "--", "ls"], /--env.*NAME=VALUE/],
    [["run", "--env-policy", "A,,B", "--", "ls"], /--env-policy/],
    [["run", "--ro-bind", "", "--", "ls"], /--ro-bind.*path/],
    [["run", "--mount", "/a:b", "--", "ls"], /--mount.*absolute GUEST/],
    [["run", "--json", "--max-output", "33M", "--", "ls"], /at most 32 MiB/],
    [["run", "--runtime", "docker", "--", "ls"], /docker.*auto, bubblewrap, landlock/],
    [["explain", "--runtime", "docker", "--", "ls"], /docker.*auto, bubblewrap, landlock/],
    [["run", "-w", "", "--", "ls"], /--workspace.*empty, as where a variable is not set/],
    [["run", "--bwrap", "", "--", "ls"], /--bwrap.*path/],
    [["explain", "--config", "", "--", "ls"], /--config.*path/],
    [["run", "--env-policy", "scrubb", "--", "ls"], /--env-policy.*did you mean scrub\?/],
    [["run", "--commit", "--", "ls"], /--commit means nothing without --transaction/],
    [["explain", "--discard", "--", "ls"], /--discard means nothing without --transaction/],
    [["run", "--state-directory", "/s", "--", "ls"], /--state-directory means nothing without/],
    [["run", "--allow-protected", "x", "--", "ls"], /--allow-protected means nothing without/],
    [["run", "--transaction", "--commit", "--discard", "--", "ls"], /not both/],
    [["run", "--transaction", "--state-directory", "", "--", "ls"], /--state-directory.*empty/],
    [["run", "--home", "keep", "ls"], /Expected none, private, kept, or a directory/],
    [["home", "clear"], /name the homes to remove, or use --all/],
    [["home", "clear", "--all", "a1"], /name the homes to remove, or use --all/],
    [["image", "pull"], /missing required argument 'reference'/],
    [["image", "pull", "--tls-verify", "no", "a"], /no.*true, false/],
    [["tx", "lst"], /unknown command 'lst' \(Did you mean list\?/],
    [["tx", "show"], /missing required argument 'id'/],
    [["tx", "show", "a", "b"], /too many arguments/],
    [["tx", "list", "--paths", "x"], /unknown option '--paths'/],
    [["tx", "diff", "--allow-protected", "x", "4be8"], /unknown option '--allow-protected'/],
    [["tx", "commit", "4be8", "--path", "x"], /unknown option '--path' \(Did you mean --paths/],
    [["doctor", "extra"], /too many arguments/],
    [["frob"], /unknown command 'frob'/],
    [["skill", "run"], /missing required argument 'path'/],
    [["skill", "run", "a.wasm", "--tier", "local"], /local.*untrusted, verified/],
    [["skill", "run", "a.wasm", "--runtime", "native"], /native.*auto, bubblewrap, landlock/],
    [["skill", "run", "a.wasm", "--timeout", "none"], /--timeout/],
    [["skill", "run", "a.wasm", "b.wasm"], /too many arguments/],
  ])("%j is refused in one line with a fix", async (words, expected) => {
    const text = await complaint(...words);
    expect(text).toMatch(expected);
    expect(text).toMatch(/^native-runner: [^\n]+\nfix: [^\n]+\n$/);
  });
});

it.each([["--version"], ["--help"], ["run", "--help"]])("%j is no error", async (...words) => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  await expect(parse(...words)).rejects.toMatchObject({ exitCode: 0 });
  const text = write.mock.calls.map(([chunk]) => String(chunk)).join("");
  write.mockRestore();
  expect(text).toMatch(words.includes("--version") ? /^1\.2\.3\n$/ : /^Usage: native-runner /);
});

describe("workers", () => {
  it("takes the names of workers, and how long they may take", async () => {
    const broker = { server: ["tls://b.test"], credentials: "k" };
    const words = ["--server", "tls://b.test", "--credentials", "k"];
    expect(await parse("workers", "list", ...words, "--pool", "build")).toEqual({
      action: "workersList",
      command: [],
      options: { ...broker, operator: "operator", pool: "build", wait: 1_000 },
    });
    const more = ["--operator", "ops", "--wait", "2s", "--json", "build/w1", "gpu/w2"];
    for (const what of ["cordon", "uncordon", "drain"]) {
      expect(await parse("workers", what, ...words, ...more)).toEqual({
        action: "workersOperate",
        command: [what, "build/w1", "gpu/w2"],
        options: { ...broker, operator: "ops", wait: 2_000, json: true },
      });
    }
  });

  it.each([
    [["drain"], "missing required argument"],
    [["drain", "w1"], "Expected POOL/NAME"],
    [["drain", "build/*"], "Expected POOL/NAME"],
    [["list", "--operator", "*"], "Expected 1 to 64 letters"],
    [["list", "--wait", "none"], "a duration such as"],
    [["stop"], "unknown command"],
  ])("refuses %j", async (words, message) => {
    expect(await complaint("workers", ...words)).toContain(message);
  });
});

describe("broker-config", () => {
  it("takes names of tenants, and of workers with their pool", async () => {
    const names = [
      "--tenant",
      "a",
      "--tenant",
      "b_2",
      "--worker",
      "build/w1",
      "--worker",
      "gpu/w-2",
      "--operator",
      "ops",
    ];
    expect(await parse("broker-config", "-d", "dir", "--listen", "[::1]:1", ...names)).toEqual({
      action: "brokerConfig",
      command: [],
      options: {
        directory: "dir",
        listen: { host: "::1", port: 1 },
        tenant: ["a", "b_2"],
        worker: [
          { pool: "build", name: "w1" },
          { pool: "gpu", name: "w-2" },
        ],
        operator: ["ops"],
      },
    });
  });

  it.each([
    [["--tenant", "a"], "--directory"],
    [["-d", "x", "--tenant", "*"], "Expected NAME or NAME=POOL,POOL, each of 1 to 64 letters"],
    [["-d", "x", "--tenant", "a.b"], "Expected NAME or NAME=POOL,POOL, each of 1 to 64 letters"],
    [["-d", "x", "--worker", "w1"], "Expected POOL/NAME"],
    [["-d", "x", "--worker", "build/>"], "Expected POOL/NAME"],
    [["-d", "x", "--worker", "a/b/c"], "Expected POOL/NAME"],
    [["-d", "x", "--operator", ">"], "Expected 1 to 64 letters"],
    [["-d", "x", "--listen", "here"], "Expected HOST:PORT"],
    [["-d", "x", "--listen", "h:70000"], "Expected a port"],
  ])("refuses %j", async (words, message) => {
    expect(await complaint("broker-config", ...words)).toContain(message);
  });
});
