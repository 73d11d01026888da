// As root too, in check:deep: root's commands are uid 0 inside, and see other modes.
/**
 * What works at the terminal works in the sandbox: everyday jobs with the real tools of this machine, in a home with
 * version managers and secrets, in every way of running. Controls: the same jobs on the host, and the secrets there.
 */

import { spawnSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { cloning } from "../clones/cloning-runners.js";
import { connect, textOf } from "../mcp/support/client.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  Bwrap,
  LandlockNativeRunner,
  type NativeExecInput,
  type NativeExecResult,
} from "../support/package.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { see } from "../support/results.js";
import { whyNo } from "../support/runtimes.js";
import { type Job, kJobs } from "./everyday-jobs.js";
import { kMark, kSecrets, live, type MadeHome, snapshot } from "./made-home.js";

/** Of those in everyday-jobs.ts; made-home.ts has more, by layout. */
const kLeastJobs = 55;
/** Longer than any job takes, with a machine that is busy. */
const kJobMs = 120_000;

/** Where a home can be that is not in the directories which are private inside: Bwrap has /var/tmp for itself too. */
const kShownToAll = ["/srv", homedir()].find((path) => {
  if (/^\/(var\/)?tmp(\/|$)/.test(path)) return false;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
});
const kAbove = kShownToAll ?? "/var/tmp";

/** Makes a home with nvm's Node.js, a pipx tool and secrets; the other tools are the machine's own. */
function everydayHome(): MadeHome & { remove: () => void } {
  const root = realpathSync(mkdtempSync(join(kAbove, "native-runner-everyday-")));
  const [home, workspace] = [join(root, "home"), join(root, "work")];
  const put = (path: string, text: string, mode = 0o644) => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
  };
  mkdirSync(workspace, { recursive: true });
  for (const path of kSecrets) put(path, `token = "${kMark} ${path}"\n`, 0o600);
  put(".gitconfig", "[user]\n\tname = Ada Lovelace\n\temail = ada@example.test\n");

  const node = join(home, `.nvm/versions/node/${process.version}`);
  mkdirSync(join(node, "bin"), { recursive: true });
  copyFileSync(process.execPath, join(node, "bin/node"), constants.COPYFILE_FICLONE);
  const npm = spawnSync("npm", ["root", "-g"], { encoding: "utf8" }).stdout.trim();
  cpSync(join(npm, "npm"), join(node, "lib/node_modules/npm"), { recursive: true });
  for (const name of ["npm", "npx"]) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(node, "bin", name));
  }
  const venv = join(home, ".local/share/pipx/venvs/pipx-tool");
  mkdirSync(join(home, ".local/bin"), { recursive: true });
  if (spawnSync("/usr/bin/python3", ["-m", "venv", "--without-pip", venv]).status === 0) {
    const tool = join(venv, "bin/pipx-tool");
    const says = `print("pipx-tool in its environment" if sys.prefix == "${venv}" else sys.prefix)`;
    writeFileSync(tool, `#!${venv}/bin/python\nimport sys; ${says}\n`, { mode: 0o755 });
    symlinkSync(tool, join(home, ".local/bin/pipx-tool"));
  }
  const own = (process.env.PATH ?? "")
    .split(":")
    .filter((path) => /\/\.(cargo|pyenv)\//.test(path));
  const path = [join(node, "bin"), join(home, ".local/bin"), ...new Set(own)];
  const rustup = join(process.env.HOME ?? "/", ".rustup");
  const env: Record<string, string> = {
    HOME: home,
    PATH: [...path, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    LANG: "C",
    TZ: "UTC",
    XDG_STATE_HOME: join(root, "state-home"),
    ...(existsSync(rustup) && { RUSTUP_HOME: rustup }),
  };
  const remove = () => rmSync(root, { recursive: true, force: true });
  return { home, workspace, state: join(root, "state"), env, remove };
}

let made: ReturnType<typeof everydayHome>;
let jobs: Job[] = [];
/** What each job prints on the host. */
const control = new Map<string, string>();

/** The job in a new directory of the workspace, which it leaves empty. */
const scriptOf = ({ script }: Job) =>
  `d=$(mktemp -d "$PWD/job-XXXXXX") && cd "$d" || exit 9; (${script}\n); s=$?; cd ..; chmod -R u+rwx "$d"; rm -rf "$d"; exit $s`;

/** Names of places that differ from one way to another. */
const told = (output: string, home = made.home) =>
  output
    .replaceAll(/(?:\/workspace|\/\S*\/native-runner-everyday-\w+\/work)\/job-\w+/g, "JOB")
    .replaceAll(home, "HOME")
    .replaceAll(made.home, "HOME")
    .trimEnd();

const onHost = (script: string) =>
  spawnSync("sh", ["-c", script], {
    env: made.env,
    cwd: made.workspace,
    encoding: "utf8",
    timeout: kJobMs,
  });

type Ran = { out: string; err: string };
type Way = { run(script: string): Promise<Ran>; home?: string };

type Runs = { exec(input: NativeExecInput): Promise<NativeExecResult> };
const byExec = (runs: Runs, home?: string): Way => ({
  ...(home !== undefined && { home }),
  run: async (script) => {
    const limits = { timeoutMs: kJobMs };
    const { out, err, kind } = see(await runs.exec({ argv: ["sh", "-c", script], limits }));
    return { out, err: `${kind}: ${err}` };
  },
});

function runnerOf(options: Partial<BubblewrapNativeRunnerOptions> = {}): BubblewrapNativeRunner {
  const runner = new BubblewrapNativeRunner({ shadowDir: made.workspace, ...options });
  onTestFinished(() => runner.close());
  return runner;
}

async function prewarmed(): Promise<Way> {
  const runner = runnerOf({ clone: "never", prewarm: 1 });
  await runner.warm();
  return byExec(runner);
}

async function cloned(): Promise<Way> {
  const runner = await cloning({ shadowDir: made.workspace });
  onTestFinished(() => runner.close());
  return byExec(runner);
}

async function transaction(): Promise<Way> {
  const opened = await runnerOf().openTransaction({ directory: made.state });
  onTestFinished(() => opened.discard());
  return byExec(opened);
}

/** A project's commands: text alone, in a copy of the user's own home. */
async function project(): Promise<Way> {
  const bwrap = new Bwrap(made.workspace, [], false, { timeoutMs: kJobMs });
  return { run: async (script) => ({ out: await bwrap.exec(script), err: "" }) };
}

async function mcp(): Promise<Way> {
  const { workspace, env } = made;
  const { call } = await connect("modern", { workspace, env: { ...env } });
  return {
    run: async (command) => {
      const result = await call("run", { command, timeoutMs: kJobMs });
      const { stdout = "", stderr = "" } = (result.structuredContent ?? {}) as Record<
        string,
        string
      >;
      return { out: stdout, err: `${stderr} ${textOf(result)}` };
    },
  };
}

/** Its session has the home. */
async function landlock(): Promise<Way> {
  const session = await new LandlockNativeRunner({ shadowDir: made.workspace }).openSession();
  onTestFinished(() => session.close());
  const home = see(await session.exec({ argv: ["printenv", "HOME"] })).out;
  return byExec(session, home);
}

const kWays: Record<string, () => Promise<Way>> = {
  cold: async () => byExec(runnerOf({ clone: "never", prewarm: 0 })),
  cloned,
  prewarmed,
  "in a session": async () => byExec(await runnerOf().openSession()),
  "in a transaction": transaction,
  "with Landlock besides": async () => byExec(runnerOf({ layers: ["landlock"] })),
  "by Bwrap": project,
  "by MCP": mcp,
  "by Landlock": landlock,
};

/** What each way can't do: docs/home.md says why. A job that works after all fails the test. */
const kCannot: Record<string, readonly string[]> = {
  "by MCP": ["a debugger"],
  "by Landlock": [
    "a server and its client in Node",
    "Node about itself",
    "python's multiprocessing",
    "a web server and curl",
    "wget",
    "a unix socket",
    "gpg: a key, a signature",
    "processes",
    "a terminal of one's own",
  ],
};

const whyNoWay: Record<string, string | undefined> = {
  "by Landlock": whyNo("landlock"),
  "by Bwrap": kShownToAll ? undefined : "all that this user can write to is private inside",
};

/** Looks for the secrets' mark, which its own command line does not have, in files, variables and processes. */
const look = (below: string) => {
  const mark = `"[${kMark.charAt(0)}]${kMark.slice(1)}"`;
  const files = `grep -rslI ${mark} "${below}" --exclude-dir=proc --exclude-dir=sys`;
  return `${files}; env | grep ${mark}; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -a ${mark}; true`;
};
const found = (output: string) => output.split("\n").filter((line) => line !== "");

/** Bwrap shows the user's home without what is on its list of secrets: these are on none. */
const kUnlisted = [
  "Documents/",
  "other-project/",
  "miniconda3/",
  ".env",
  ".cargo/config.toml",
  ".pyenv/",
  ".nvm/",
  ".config/mise/",
].map((path) => `HOME/${path}`);
const isUnlisted = (path: string) => kUnlisted.some((each) => told(path).startsWith(each));

async function failures(way: string, { run, home }: Way): Promise<string[]> {
  const wrong: string[] = [];
  for (const each of jobs) {
    const { out, err } = await run(scriptOf(each));
    const isSame = told(out, home) === control.get(each.name);
    const isKnown = kCannot[way]?.includes(each.name) ?? false;
    if (!isSame && !isKnown) wrong.push(`${each.name}: ${told(out, home)} ${err}`);
    if (isSame && isKnown) wrong.push(`${each.name}: works, though it is listed`);
  }
  return wrong;
}

describeSandboxed("everyday jobs", () => {
  beforeAll(() => {
    made = everydayHome();
    jobs = kJobs.filter(({ name, needs }) => {
      const missing = needs.find((need) => onHost(`${need} > /dev/null 2>&1`).status !== 0);
      if (missing) process.stderr.write(`skipped: ${name}: on this machine fails: ${missing}\n`);
      return missing === undefined;
    });
  }, kJobMs);
  afterAll(() => made.remove());
  beforeEach(() => live(made));

  test("on the host", () => {
    const wrong: string[] = [];
    for (const each of jobs) {
      const { stdout, stderr } = onHost(scriptOf(each));
      const out = told(stdout);
      control.set(each.name, out);
      const isRight =
        typeof each.out === "string" ? out === each.out.trimEnd() : each.out.test(out);
      if (!isRight) wrong.push(`${each.name}: ${out} ${stderr}`);
    }
    expect(wrong).toEqual([]);
    expect(jobs.length).toBeGreaterThanOrEqual(kLeastJobs);
  }, 600_000);

  test("control: the secrets are found on the host", () => {
    expect(found(onHost(look("$HOME")).stdout).length).toBeGreaterThanOrEqual(30);
  });

  for (const [name, open] of Object.entries(kWays)) {
    testUnless(
      whyNoWay[name],
      `${name}: each works, no secret can be read, and the home stays as it is`,
      async () => {
        const before = snapshot(made.home);
        const way = await open();
        expect(await failures(name, way)).toEqual([]);
        const isProject = name === "by Bwrap";
        const read = found((await way.run(look(isProject ? made.home : "/"))).out);
        expect(read.filter((path) => !(isProject && isUnlisted(path)))).toEqual([]);
        expect(snapshot(made.home)).toEqual(before);
      },
      900_000,
    );
  }
});
