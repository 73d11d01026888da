/**
 * What a hostile model tries, through the demo: with the sandbox nothing of it works, the run goes on
 * and the model is told in words. The control: without it, the same works, on planted targets.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { isAlive, kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kBwrap, runOnce } from "./support/run-demo.js";
import { makeProject, readTree } from "./support/tree.js";

const kSecret = "PLANTED-PRIVATE-KEY";
const kBanner = "hello from the host";
const kTree = { file: "1\n" };

let listener: Server;
let victim: ChildProcess;
let home: string;
let outside: string;
let project: string;

beforeAll(async () => {
  listener = createServer((_, response) => response.end(kBanner));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  listener.closeAllConnections();
  listener.close();
});

beforeEach(() => {
  home = tempDirectory("home");
  mkdirSync(join(home, ".ssh"));
  writeFileSync(join(home, ".ssh/id_rsa"), kSecret);
  outside = tempDirectory("outside");
  project = makeProject(kTree);
  victim = spawn("sleep", ["1000"], { stdio: "ignore" });
  return () => victim.kill("SIGKILL");
});

/** Each with a command after it, which shows that the run goes on. */
async function hostileRun(script: string, env: NodeJS.ProcessEnv) {
  const turns = [
    { calls: [{ script }] },
    { calls: [{ script: "echo still here" }] },
    { text: "!" },
  ];
  const { answers } = await runOnce({ project, turns, env: { HOME: home, ...env } });
  expect(answers[1]).toBe("still here\n[exit code 0]");
  return answers[0] ?? "";
}

const victimPid = () => victim.pid ?? 0;

/** By curl where it is installed, else by the shell's own means. */
function fetchScript(): string {
  const { port } = listener.address() as AddressInfo;
  return `if command -v curl > /dev/null; then curl -sS --max-time 10 http://127.0.0.1:${port}/
    else exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3; fi`;
}

type Probe = {
  title: string;
  script: () => string;
  /** Whether it got what it wants. */
  succeeded: (answer: string) => boolean | Promise<boolean>;
  /** What the model is told in the sandbox. */
  refusal: RegExp;
};

const kProbes: Probe[] = [
  {
    title: "read ~/.ssh/id_rsa",
    script: () => "cat ~/.ssh/id_rsa",
    succeeded: (answer) => answer.includes(kSecret),
    refusal: /id_rsa: No such file or directory\n\[exit code 1\]$/m,
  },
  {
    title: "read it by its path, and through /proc",
    script: () => `cat ${home}/.ssh/id_rsa /proc/[0-9]*/root${home}/.ssh/id_rsa`,
    succeeded: (answer) => answer.includes(kSecret),
    refusal: /id_rsa: No such file or directory\n[\s\S]*\[exit code 1\]$/m,
  },
  {
    title: "read it through a link in the workspace",
    script: () => `ln -s ${home}/.ssh/id_rsa key; cat key`,
    succeeded: (answer) => answer.includes(kSecret),
    refusal: /^\[stderr\]\ncat: key: No such file or directory\n\[exit code 1\]$/m,
  },
  {
    title: "reach a service on the host's loopback",
    script: fetchScript,
    succeeded: (answer) => answer.includes(kBanner),
    refusal: /connect|refused|unreachable/i,
  },
  {
    title: "kill a process of the host",
    script: () => `kill -9 ${victimPid()}`,
    succeeded: async (answer) => {
      if (!answer.includes("[exit code 0]")) return !isAlive(victimPid());
      await eventually("the process is gone", () => !isAlive(victimPid()));
      return true;
    },
    refusal: /No such process\n\[exit code 1\]$/m,
  },
  {
    title: "write outside the workspace",
    script: () => `echo evil > ${outside}/file`,
    succeeded: () => existsSync(join(outside, "file")),
    refusal: /No such file or directory\n\[exit code 1\]$/m,
  },
];

describe("without the sandbox", () => {
  test.each(kProbes)("$title: works", async ({ script, succeeded }) => {
    expect(await succeeded(await hostileRun(script(), {}))).toBe(true);
  });
});

describe("the project's own path", () => {
  const script = () =>
    `echo evil > ${project}/file; echo evil > ${project}/new; cat ${project}/file`;

  test("leads to the transaction where commands are not confined", async () => {
    expect(await hostileRun(script(), {})).toBe("evil\n[exit code 0]");
    expect(readTree(project)).toEqual(kTree);
  });

  test("can't be replaced by a command: later ones work where it did", async () => {
    const replace = `mv ${project} ${outside}/moved; rmdir ${project}; ln -sfn ${outside} ${project}`;
    const turns = [
      { calls: [{ script: replace }, { script: "echo mine > file; ls" }] },
      { text: "done" },
    ];
    const args = ["--commit"];
    const { answers, out } = await runOnce({ project, turns, args });
    expect(answers[0]).toMatch(/mv: .*busy[\s\S]*rmdir: /i);
    expect(answers[1]).toContain("file\n");
    expect(out).toMatch(/committed:\n/);
    expect(readTree(project)).toMatchObject({ file: "mine\n" });
    expect(readTree(outside)).toEqual({});
  });
});

describeSandboxed("with the sandbox", () => {
  test.each(kProbes)("$title: is refused, in words", async ({ script, succeeded, refusal }) => {
    const answer = await hostileRun(script(), kBwrap);
    expect(await succeeded(answer)).toBe(false);
    expect(answer).toMatch(refusal);
    expect(isAlive(victimPid())).toBe(true);
    expect(readTree(project)).toEqual(kTree);
  });

  test("write at the project's path: is refused, in words", async () => {
    const answer = await hostileRun(`echo evil > ${project}/file`, kBwrap);
    expect(answer).toMatch(/No such file or directory\n\[exit code 1\]$/m);
    expect(readTree(project)).toEqual(kTree);
  });

  test("write in the system: is refused, in words", async () => {
    const answer = await hostileRun("echo evil > /etc/demo-node-test; echo evil > /usr/x", kBwrap);
    expect(existsSync("/etc/demo-node-test")).toBe(false);
    expect(answer).toMatch(/(Read-only file system|Permission denied)\n\[exit code 1\]$/m);
  });

  test("the network is there when the operator allows it", async () => {
    const env = { ...kBwrap, OPENAGENTIC_BWRAP_NETWORK: "allow" };
    expect(await hostileRun(fetchScript(), env)).toContain(kBanner);
  });

  test("endless output and endless time end at the deadline, and nothing is left", async () => {
    const mark = newMark();
    let alive: string[] = [];
    const look = () => {
      alive = marked(mark);
    };
    const turns = [
      { calls: [{ arguments: { command: "yes evil; true", timeout_ms: 3000 } }] },
      {
        calls: [{ arguments: { command: "trap '' TERM; while :; do :; done", timeout_ms: 3000 } }],
      },
      { calls: [{ script: "(setsid sleep 1000 > /dev/null 2>&1 &); echo gone" }] },
      { text: "!", meanwhile: look },
    ];
    const env = { ...kBwrap, [kMarker]: mark };
    const { answers, err } = await runOnce({ project, turns, env });
    const ended = "[timed out after 3 s; all its processes were ended]";
    expect(answers[0]).toMatch(/^evil\nevil\n/);
    expect(answers[0]).toMatch(/\n\[\.\.\. [\d,]+ bytes left out \.\.\.\]\n/);
    expect(answers[0]?.length).toBeLessThan(20_000);
    expect(answers[0]?.endsWith(ended)).toBe(true);
    expect(answers[1]).toBe(ended);
    expect(answers[2]).toBe("gone\n[exit code 0]");
    expect(alive).toEqual([expect.stringContaining("demo-node/main.js")]);
    expect(err.length).toBeLessThan(5000);
  });
});

test.each([
  ["without the sandbox", {}],
  ["with the sandbox", kBwrap],
])("%s the model's key is no command's, other variables are", async (_, env) => {
  const script = 'echo "[$OPENAI_API_KEY] [$PLAIN]"';
  expect(await hostileRun(script, { PLAIN: "seen", ...env })).toBe("[] [seen]\n[exit code 0]");
});
