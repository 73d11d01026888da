/** Batches: commands one after the other in one sandbox. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { type BatchOptions, type NativeExecInput, SandboxError } from "../support/package.js";
import { childrenOf } from "../support/processes.js";
import { testUnless } from "../support/requirements.js";
import { bytes, see } from "../support/results.js";
import { describeSessions } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

describeSessions("a batch", (maker) => {
  const make = () => {
    const workspace = tempDirectory();
    const runner = maker.runner(workspace);
    const batch = async (
      commands: readonly (NativeExecInput | string[])[],
      options?: BatchOptions,
    ) => (await runner.execBatch(commands, options)).map(see);
    const log = () => {
      const file = join(workspace, "log");
      return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    };
    return { batch, log };
  };
  const sh = (script: string) => ["sh", "-c", script];

  test("gives one result for each, in order", async () => {
    const { batch, log } = make();
    const results = await batch([
      sh("echo 1 >> log; echo out; exit 3"),
      { argv: sh("cat; echo $A; echo 2 >> log"), stdin: bytes("in "), env: { A: "a" } },
      ["no-such"],
      { argv: sh("sleep 1000"), limits: { timeoutMs: 200 } },
      sh("kill -9 $$"),
      sh("echo 3 >> log"),
    ]);
    expect(results.map(({ kind, exitCode, out }) => [kind, exitCode, out])).toEqual([
      ["exited", 3, "out"],
      ["exited", 0, "in a"],
      ["not-found", 127, ""],
      ["timed-out", 124, ""],
      ["signaled", 137, ""],
      ["exited", 0, ""],
    ]);
    expect(log()).toEqual(["1", "2", "3"]);
    expect(childrenOf(maker.host())).toEqual([]);
  });

  test("of nothing is nothing", async () => {
    expect(await make().batch([])).toEqual([]);
  });

  test("has one shell, if asked for", async () => {
    const { batch } = make();
    const commands = [sh("mkdir d; cd d; A=1"), sh("echo $A; pwd")];
    expect((await batch(commands, { shell: true }))[1]?.out).toMatch(/^1\n.*\/d$/);
    expect((await batch(commands))[1]?.out).not.toMatch(/^1/);
  });

  test.each([
    ["a code", sh("exit 1"), "exited"],
    ["a signal", sh("kill -9 $$"), "signaled"],
    ["a command that is missing", ["no-such"], "not-found"],
  ])("stops after %s", async (_, failing, kind) => {
    const { batch, log } = make();
    const commands = [sh("echo 1 >> log"), failing, sh("echo 2 >> log"), sh("echo 3 >> log")];
    const stopped = await batch(commands, { stopOnError: true });
    expect(stopped.map((each) => each.kind)).toEqual(["exited", kind, "aborted", "aborted"]);
    expect(stopped.map((each) => each.exitCode).slice(2)).toEqual([130, 130]);
    expect(log()).toEqual(["1"]);
  });

  test("that loses its sandbox tells what had ended by then", async () => {
    const { batch, log } = make();
    const lose = () => {
      const [spawned] = childrenOf(maker.host());
      if (spawned !== undefined) process.kill(spawned, "SIGKILL");
    };
    const commands = [
      sh("echo 1 >> log; exit 4"),
      sh("echo 2 >> log; sleep 1000"),
      sh("echo 3 >> log"),
    ];
    const running = batch(commands).catch((thrown: unknown) => thrown);
    await eventually("the second one runs", () => log().includes("2"));
    lose();
    const error = await running;
    expect(error).toBeInstanceOf(SandboxError);
    expect(error).toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    const { message, results } = error as SandboxError;
    expect(message).toMatch(/^the session has ended: /);
    expect(results?.map(({ outcome, exitCode }) => [outcome.kind, exitCode])).toEqual([
      ["exited", 4],
      ["signaled", 137],
    ]);
    expect(log()).toEqual(["1", "2"]);
    expect(childrenOf(maker.host())).toEqual([]);
  });

  const apart =
    maker.name === "remote" ? "callbacks and signals of one command stay here" : undefined;
  testUnless(
    apart,
    `ends with its signal, or with that of one command, ${maker.name}`,
    async () => {
      const { batch, log } = make();
      const all = new AbortController();
      const own = new AbortController();
      const commands = [
        { argv: sh("echo 1 >> log; sleep 1000"), signal: own.signal, onStdout: () => {} },
        { argv: sh("echo 2 >> log; echo up; sleep 1000"), onStdout: () => all.abort() },
        sh("echo 3 >> log"),
      ];
      const running = batch(commands, { signal: all.signal });
      await eventually("the first runs", () => log()[0] === "1");
      own.abort();
      const results = await running;
      expect(results.map(({ kind }) => kind)).toEqual(["aborted", "aborted", "aborted"]);
      expect(log()).toEqual(["1", "2"]);
      const before = await batch([sh("echo 4 >> log")], { signal: AbortSignal.abort() });
      expect(before.map(({ kind }) => kind)).toEqual(["aborted"]);
      expect(log()).toEqual(["1", "2"]);
    },
  );

  test.each([
    ["an empty argv", { argv: [] }, "argv[0] is required"],
    ["a wrong argv", { argv: "ls" }, "argv"],
    ["no command", null, "argv"],
    ["a word", "ls", "argv"],
    ["a wrong directory", { argv: ["ls"], cwd: "../x" }, "cwd"],
    ["a wrong limit", { argv: ["ls"], limits: { timeoutMs: 0 } }, "timeoutMs"],
    ["a wrong signal", { argv: ["ls"], signal: {} }, "signal"],
    ["a wrong callback", { argv: ["ls"], onStdout: 1 }, "onStdout"],
    ["a NUL byte", ["a\0b"], "argv"],
  ])("with %s runs none", async (_, wrong, named) => {
    const { batch, log } = make();
    const commands = [sh("echo 1 >> log"), wrong] as string[][];
    const error = await batch(commands).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toContain(named);
    expect(log()).toEqual([]);
    expect(childrenOf(maker.host())).toEqual([]);
  });

  test.each([
    ["commands", "x", {}],
    ["stopOnError", [], { stopOnError: 1 }],
    ["signal", [], { signal: 1 }],
    ["shell", [], { shell: 1 }],
    ["tmpBytes", [], { tmpBytes: "1" }],
  ])("names a wrong `%s`", async (field, commands, options) => {
    const error = await make()
      .batch(commands as string[][], options as BatchOptions)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(`\`${field}\``);
  });
});
