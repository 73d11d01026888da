/** `native-runner run` as a pipe's part and at a terminal: what goes through, and how it ends. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";

import { eventually, kHungMs, kQuietMs } from "../../support/waits.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { LocalNativeRunner } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kMiB = 1024 ** 2;
const host = new LocalNativeRunner({ shadowDir: tempDirectory(), envPolicy: "inherit" });
const quoted = kCli.map((word) => `'${word}'`).join(" ");

/** A line for bash, with `nr` as our command; all that both outputs had. */
function bash(line: string) {
  return command(["bash", "-o", "pipefail", "-c", `nr() { ${quoted} "$@"; }; ${line}`]);
}

/** Waits until a number stays as it is, and returns it. */
async function still(read: () => number): Promise<number> {
  for (let before = -1; ; ) {
    const now = read();
    if (now === before) return now;
    before = now;
    await delay(kQuietMs);
  }
}

async function atTerminal(words: readonly string[], size = { cols: 100, rows: 30 }) {
  const live = await host.spawn({
    argv: [...kCli, ...words],
    pty: size,
    env: { TERM: "xterm", NO_COLOR: "1" },
    limits: { timeoutMs: kHungMs },
  });
  const seen = { text: "" };
  live.stdout.on("data", (chunk: Uint8Array) => {
    seen.text += Buffer.from(chunk).toString();
  });
  const shows = (text: RegExp) =>
    eventually(
      () => `${text} is shown: ${JSON.stringify(seen.text)}`,
      () => text.test(seen.text),
    );
  return { live, seen, shows };
}

describeUnless(whyNoCli ?? whyNoBubblewrap, "run in a pipe", () => {
  test("passes more than is kept elsewhere, byte by byte, both ways", () => {
    const line = "head -c 20000000 /dev/urandom | tee x | nr run -- cat | sha256sum; sha256sum < x";
    const [through, direct] = bash(line).stdout.split("\n");
    expect(through).toMatch(/^[0-9a-f]{64} /);
    expect(through).toBe(direct);
  });

  test("cuts at --max-output, says so, and lets the command go on", () => {
    const line = "nr run --max-output 1K -- sh -c 'head -c 9999 /dev/zero; echo end >&2' | wc -c";
    const { stdout, stderr, status } = bash(line);
    expect(stdout.trim()).toBe("1024");
    expect(stderr).toMatch(/^end\n.*stdout truncated: 1 KiB of 9.8 KiB kept \(--max-output\)\n$/s);
    expect(status).toBe(0);
  });

  test("passes input as it comes, before it has ended", async () => {
    const live = await host.spawn({
      argv: [...kCli, "run", "--", "sh", "-c", 'while read -r line; do echo "got $line"; done'],
    });
    live.stdin.write("one\n");
    expect(String((await once(live.stdout, "data"))[0])).toBe("got one\n");
    live.stdin.end("two\n");
    expect(String((await once(live.stdout, "data"))[0])).toBe("got two\n");
    expect((await live.result).outcome).toEqual({ kind: "exited" });
  });

  test("a reader that goes ends the command by SIGPIPE, and nothing is said", () => {
    const { stdout, stderr } = bash(`nr run -- yes | head -1; echo "\${PIPESTATUS[0]}"`);
    expect({ stdout, stderr }).toEqual({ stdout: "y\n141\n", stderr: "" });
  });

  test("a command that ignores SIGPIPE learns of it, and goes on", () => {
    const script = "trap '' PIPE; while echo y; do :; done 2>/dev/null; echo went on >&2; exit 3";
    const { stdout, stderr } = bash(
      `nr run -- sh -c "${script}" | head -1; echo "\${PIPESTATUS[0]}"`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "y\n3\n", stderr: "went on\n" });
  });

  test("a command that reads no further ends its writer", () => {
    const { stdout } = bash(`yes | nr run -- head -1; echo "\${PIPESTATUS[*]}"`);
    expect(stdout).toBe("y\n141 0\n");
  });

  test("a slow reader holds the command up: neither side keeps what waits", async () => {
    const dir = tempDirectory();
    const script =
      "i=0; while [ $i -lt 400 ]; do head -c 262144 /dev/zero; i=$((i+1)); echo $i > n; done";
    const live = await host.spawn({ argv: [...kCli, "run", "-w", dir, "--", "sh", "-c", script] });
    const made = join(dir, "n");
    const count = () => (existsSync(made) ? Number(readFileSync(made, "utf8")) : 0);
    await once(live.stdout, "readable");
    // Nothing more is read here; what the pipes and buffers take is bounded.
    expect(await still(count)).toBeLessThan(64);
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of live.stdout) {
      size += (chunk as Uint8Array).length;
      hash.update(chunk as Uint8Array);
    }
    expect(size).toBe(100 * kMiB);
    expect(hash.digest("hex")).toBe(
      createHash("sha256")
        .update(new Uint8Array(100 * kMiB))
        .digest("hex"),
    );
  });

  describe("SIGTERM ends the run, and", () => {
    /** What the reader of a run does that has written 1.5 MB, and was then sent a SIGTERM. */
    const interrupted = (reader: string) =>
      bash(`cd '${tempDirectory()}'
        ended() { ! kill -0 "$(cat pid)" 2> /dev/null; }
        within() { for _ in $(seq ${kHungMs / 40}); do "$@" && return; sleep 0.02; done; echo hung; }
        command='head -c 1500000 /dev/zero; echo > written; sleep 1000'
        { echo $BASHPID > pid; exec ${quoted} run -- sh -c "$command"; } | {
          within test -e written
          kill -TERM "$(cat pid)"
          ${reader}
        }
        echo "\${PIPESTATUS[0]}"`).stdout;

    test("a reader that reads gets what was written before", () => {
      expect(interrupted("wc -c")).toBe("1500000\n130\n");
    });

    test("a reader that reads no further does not keep it", () => {
      expect(interrupted("within ended; echo seen")).toBe("seen\n130\n");
    });
  });

  test("help whose reader goes says nothing", () => {
    const { stdout, stderr } = bash("nr --help | head -1; nr run --help | head -1");
    expect(stdout).toMatch(/^Usage: native-runner .*\nUsage: native-runner run .*\n$/);
    expect(stderr).toBe("");
  });

  test("a shell's line as one word is told apart from a program that is missing", () => {
    const line = command([...kCli, "run", "--", "ls -la"]);
    expect(line.status).toBe(127);
    expect(line.stderr).toContain(
      "fix: a line for a shell is `native-runner run -- bash -c 'ls -la'`",
    );
    expect(command([...kCli, "run", "--", "nosuch"]).stderr).toContain("fix: mount its folder");
  });

  test("a refused request is told of, with the option that grants it; asked-for denial is silent", () => {
    const words = ["--", "bash", "-c", "echo x > /dev/tcp/refused.example/443"];
    const told = command([...kCli, "run", ...words]).stderr;
    expect(
      told.match(/the network refused refused\.example.*; --allow-host refused\.example /g),
    ).toHaveLength(1);
    const silent = command([...kCli, "run", "--network", "deny", ...words]).stderr;
    expect(silent).not.toContain("refused refused");
    expect(silent).toContain("refused.example"); // bash's own complaint
  });

  test.each([
    [["-w", "/nonexistent"], 125, /--workspace .* does not exist/],
    [["--nonsense"], 2, /unknown option '--nonsense'/],
    [["--bwrap", "/nonexistent"], 125, /program not found/],
    [["--cwd", "../x"], 2, /--cwd must stay/],
  ])("--json is JSON too where %j is refused", (options, status, message) => {
    const result = command([...kCli, "run", "--json", ...options, "--", "true"]);
    expect(result.status).toBe(status);
    const said = JSON.parse(result.stdout);
    expect(said.exitCode).toBe(status);
    expect(said.error.message).toMatch(message);
  });

  test("a fix fits what stands there", () => {
    const file = command([...kCli, "run", "-w", "/etc/passwd", "--", "true"]).stderr;
    expect(file).toMatch(/it is a file\nfix: name a directory\n/);
    expect(command([...kCli, "rum"]).stderr).toMatch(
      /did you mean run\?\)?\nfix: see `native-runner --help`/i,
    );
  });
});

describeUnless(whyNoCli ?? whyNoBubblewrap, "run at a terminal", () => {
  test("without -i says that there is no input; a command that reads ends", async () => {
    const { live, seen } = await atTerminal(["run", "--", "cat"]);
    expect((await live.result).exitCode).toBe(0);
    expect(seen.text).toContain("gets no input, since that is a terminal\r\nfix: -i passes it on");
    const silent = await atTerminal(["run", "--no-stdin", "--", "true"]);
    await silent.live.result;
    expect(silent.seen.text).toBe("");
  });

  test("with -i passes lines, and ^D as the end", async () => {
    const { live, shows } = await atTerminal([
      "run",
      "-i",
      "--",
      "sh",
      "-c",
      "read -r x; echo got-$x; cat",
    ]);
    live.stdin.write("one\r");
    await shows(/got-one/);
    live.stdin.write("\u0004");
    expect((await live.result).exitCode).toBe(0);
  });

  test("with -it the command has a terminal of our size, that follows", async () => {
    const script =
      'trap "stty size; exit 5" WINCH; tty -s && stty size; while :; do sleep 0.1; done';
    const { live, shows } = await atTerminal(["run", "-it", "--", "bash", "-c", script]);
    await shows(/30 100/);
    live.resize({ cols: 90, rows: 20 });
    await shows(/20 90/);
    expect((await live.result).exitCode).toBe(5);
  });

  test("with -it Ctrl-C and Ctrl-Z are the command's", async () => {
    const { live, shows } = await atTerminal([
      "run",
      "-it",
      "-e",
      "TERM=dumb",
      "--",
      "bash",
      "--norc",
      "-i",
    ]);
    live.stdin.write("PS1='re''ady> '\r");
    await shows(/\nready> $/);
    // `read` starts no process: one that Ctrl-Z stops between vfork and exec holds its
    // parent, which then never stops (at every terminal).
    live.stdin.write("sh -c 'echo be\"\"gan; read line'\r");
    await shows(/\nbegan/);
    live.stdin.write("\u001a");
    await shows(/Stopped/);
    // One process that writes and then reads: a shell that is just starting one loses a Ctrl-C.
    live.stdin.write("kill -KILL %1; cat /proc/sys/kernel/ostype -\r");
    await shows(/\nLinux/);
    live.stdin.write("\u0003");
    await shows(/\^C(.|\n|\r)*\nready> $/);
    live.stdin.write("exit 9\r");
    expect((await live.result).exitCode).toBe(9);
  });

  test("Ctrl-Z without -t stops the command with us, and it continues with us", async () => {
    const dir = tempDirectory();
    const live = await host.spawn({
      argv: ["bash", "--norc", "-i"],
      pty: { cols: 100, rows: 30 },
      env: { TERM: "xterm", PS1: "$ " },
      limits: { timeoutMs: kHungMs },
    });
    let seen = "";
    live.stdout.on("data", (chunk: Uint8Array) => {
      seen += Buffer.from(chunk).toString();
    });
    const script = "while :; do echo x >> n; sleep 0.02; done";
    live.stdin.write(`${quoted} run --no-stdin -w '${dir}' -- sh -c '${script}'\r`);
    const lines = () => readFileSync(join(dir, "n"), "utf8").length;
    await eventually("it runs", () => existsSync(join(dir, "n")) && lines() > 0);
    live.stdin.write("\u001a");
    await eventually(
      () => `it stops: ${seen}`,
      () => seen.includes("Stopped"),
    );
    const before = await still(lines);
    live.stdin.write("fg\r");
    await eventually("it continues", () => lines() > before);
    live.stdin.write("\u0003");
    await eventually(
      () => `it ends: ${seen}`,
      () => seen.includes("interrupted"),
    );
    live.stdin.write("exit\r");
    await live.result;
  });

  test("-t as it was once, with a deadline, names --timeout", () => {
    const { status, stderr } = command([...kCli, "run", "-t", "5s", "--", "true"]);
    expect(status).toBe(2);
    expect(stderr).toContain("-t is --tty; the deadline is --timeout 5s");
  });

  test("learn shows a binary's bytes instead of sending them", async () => {
    const { live, seen } = await atTerminal([
      ...["learn", "--no-stdin", "--", "printf", "\\033]0;title\\007\\000\\377plain"],
    ]);
    await live.result;
    expect(seen.text).toContain("^[]0;title^G^@\ufffdplain");
    expect(seen.text).not.toContain("\u001b]0;");
  });
});
