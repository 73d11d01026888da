// What our runs are compared with: a C program, child_process and execa with the options of our own bwrap
// command, other sandbox tools, and the command without any sandbox.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

import { burstOf, compiled, hasProgram } from "../programs.mjs";

/** Keeps the first `limit` bytes of a stream and counts the rest. */
class Capture {
  #chunks = [];
  #kept = 0;
  #limit;
  total = 0;

  constructor(stream, limit) {
    this.#limit = limit;
    stream.on("data", (chunk) => this.#add(chunk));
  }

  #add(chunk) {
    this.total += chunk.length;
    const room = this.#limit - this.#kept;
    if (room <= 0) return;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  bytes() {
    const whole = new Uint8Array(this.#kept);
    let offset = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, offset);
      offset += chunk.length;
    }
    return whole;
  }
}

// What a careful author writes on child_process.spawn: capped output that is drained to its end, a
// deadline that kills. Shared by all variants that start a program from JavaScript themselves.

/** Resolves when the program has ended and its output is read. `shell`: `cmd` is a command line. */
function runSpawned(cmd, args, { limits, shell = false }) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const child = spawn(cmd, args, { stdio: ["ignore", "pipe", "pipe"], shell });
    const stdout = new Capture(child.stdout, limits.maxStdoutBytes);
    const stderr = new Capture(child.stderr, limits.maxStderrBytes);
    let timedOut = false;
    const deadline = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, limits.timeoutMs);
    child.on("error", (error) => {
      clearTimeout(deadline);
      reject(error);
    });
    child.on("close", (code, signal) => {
      clearTimeout(deadline);
      resolve({
        exitCode: timedOut ? 124 : (code ?? 1),
        signal,
        timedOut,
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        stdoutBytes: stdout.total,
        stderrBytes: stderr.total,
        durationMs: Date.now() - started,
      });
    });
  });
}

// The same bwrap options in plain JavaScript, on child_process.spawn.
function openChildProcess({ sandbox }) {
  return {
    exec: ({ argv, limits }) =>
      runSpawned(sandbox.cmd, [...sandbox.options, "--", ...argv], { limits }),
  };
}

// The command itself on child_process.spawn, without any sandbox.
function openBareChildProcess() {
  return { exec: ({ argv, limits }) => runSpawned(argv[0], argv.slice(1), { limits }) };
}

// execa running the same bwrap command. It can't drain what is over its cap (it ends the command
// there), so it takes no part where output is dropped.
async function openExeca({ sandbox }) {
  const { execa } = await import("execa");
  return {
    async exec({ argv, limits }) {
      const result = await execa(sandbox.cmd, [...sandbox.options, "--", ...argv], {
        stdin: "ignore",
        encoding: "buffer",
        stripFinalNewline: false,
        maxBuffer: { stdout: limits.maxStdoutBytes, stderr: limits.maxStderrBytes },
        timeout: limits.timeoutMs,
        killSignal: "SIGKILL",
        reject: false,
      });
      return {
        exitCode: result.exitCode,
        stdout: result.stdout,
        stderr: result.stderr,
        stdoutBytes: result.stdout.length,
      };
    },
  };
}

// Firejail as its users call it, with the options that come nearest to what the others do: no
// network, the workspace as the only home, a read-only system. --noprofile, since the profiles that
// it ships are for desktop programs and none is for a shell command.

const kFirejailOptions = [
  ...["--quiet", "--noprofile", "--caps.drop=all", "--nonewprivs", "--seccomp"],
  ...["--ipc-namespace", "--net=none", "--private-dev", "--private-tmp", "--read-only=/"],
];

const noFirejail = () => (hasProgram("firejail") ? undefined : "firejail is not installed");

function openFirejail({ workspace, home }) {
  // --private puts the workspace in the place of the home directory.
  const options = [...kFirejailOptions, `--private=${workspace}`, `--read-write=${home}`, "--"];
  return {
    exec: ({ argv, limits }) => runSpawned("firejail", [...options, ...argv], { limits }),
  };
}

// Where `npm run bench:peers` puts the npm packages that ours is compared with: not below the
// package's own node_modules, nor in its lock file.
const kPeersDirectory = fileURLToPath(new URL("../../build/bench/peers/", import.meta.url));

// @anthropic-ai/sandbox-runtime as a library, as its README uses it: set up once, each command is
// wrapped and given to spawn with a shell. It reads all that it is not told to hide, so the home
// directory is. An empty list of domains is its way to deny the network; its proxies run all the
// same. Installed by `npm run bench:peers`.

const kEntry = `${kPeersDirectory}node_modules/@anthropic-ai/sandbox-runtime/dist/index.js`;

function noSandboxRuntime() {
  if (!existsSync(kEntry)) return "@anthropic-ai/sandbox-runtime is not installed";
  const programs = ["socat", "rg"].filter((name) => !hasProgram(name));
  return programs.length === 0 ? undefined : `it needs ${programs.join(" and ")}`;
}

const quote = (argument) => `'${argument.replaceAll("'", `'\\''`)}'`;

async function openSandboxRuntime({ workspace, home }) {
  const { SandboxManager } = await import(pathToFileURL(kEntry).href);
  // It looks for files to protect below the working directory, which is the workspace for an agent.
  process.chdir(workspace);
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [home], allowWrite: [workspace], denyWrite: [] },
  });
  return {
    async exec({ argv, limits }) {
      const wrapped = await SandboxManager.wrapWithSandbox(argv.map(quote).join(" "));
      try {
        return await runSpawned(wrapped, [], { limits, shell: true });
      } finally {
        SandboxManager.cleanupAfterCommand();
      }
    },
    close: () => SandboxManager.reset(),
  };
}

// The C floor behind the interface of a host (measure.mjs), started anew for each burst. `bare`:
// the command itself, without the sandbox.

const kSource = new URL("./floor.c", import.meta.url);

async function openFloor({ sandbox, bare = false }) {
  const program = await compiled(kSource);
  const prefix = bare ? [] : [sandbox.cmd, ...sandbox.options, "--"];
  return {
    burst: ({ argv, runs, atOnce }) => burstOf(program, [atOnce, runs, ...prefix, ...argv]),
    close() {},
  };
}

export const variants = {
  floor: {
    title: "C floor, same bwrap",
    kind: "floor",
    openHere: openFloor,
    isolatesAs: "childProcess",
  },
  childProcess: {
    title: "child_process, same bwrap",
    kind: "same-bwrap",
    open: openChildProcess,
  },
  execa: {
    title: "execa, same bwrap",
    kind: "same-bwrap",
    open: openExeca,
    isolatesAs: "childProcess",
  },
  firejail: {
    title: "firejail",
    kind: "peer",
    missing: noFirejail,
    open: openFirejail,
    share: 0.2,
  },
  sandboxRuntime: {
    title: "sandbox-runtime",
    kind: "peer",
    missing: noSandboxRuntime,
    open: openSandboxRuntime,
    share: 0.2,
  },
  bare: {
    title: "C, no sandbox",
    kind: "floor",
    isUnconfined: true,
    openHere: openFloor,
    options: { bare: true },
  },
  bareChildProcess: {
    title: "child_process, no sandbox",
    kind: "same-bwrap",
    isUnconfined: true,
    open: openBareChildProcess,
  },
};
