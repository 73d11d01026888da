/** Every option and every field of the input: a wrong value rejects, has a code and names the field. */

import { expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  buildBubblewrapArgv,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import {
  kBubblewrapArgvOptions,
  kBubblewrapOptions,
  kFirejailOptions,
  kInputs,
  kLandlockOptions,
  kOptions,
  kRange,
  kSizes,
  kSpawnInputs,
  kType,
  kValue,
  titled,
} from "../support/wrong-values.js";

function expectMisuse(error: unknown, field: string, code: string): void {
  expect(error).toBeInstanceOf(code === kRange ? RangeError : TypeError);
  expect(error).toMatchObject({ code });
  expect((error as Error).message).toContain(field);
}

describeSandboxed("values", () => {
  const shadowDir = tempDirectory();
  const runners = [new BubblewrapNativeRunner({ shadowDir }), new LocalNativeRunner({ shadowDir })];

  test.each(titled(kInputs))("exec rejects %s", async (_, field, change, code) => {
    for (const runner of runners) {
      const input = { argv: ["true"], ...change } as unknown as Parameters<typeof runner.exec>[0];
      const running = runner.exec(input);
      expectMisuse(await running.catch((reason: unknown) => reason), field, code);
    }
  });

  test.each(titled(kSpawnInputs))("spawn rejects %s", async (_, field, change, code) => {
    for (const runner of runners) {
      const input = { argv: ["true"], ...change } as unknown as Parameters<typeof runner.spawn>[0];
      const starting = runner.spawn(input);
      expectMisuse(await starting.catch((reason: unknown) => reason), field, code);
    }
  });

  test("variables that are undefined are left out, as those of process.env may be", async () => {
    const argv = ["sh", "-c", `echo "\${A-none} $B"`];
    const env = { A: undefined, B: "b" };
    for (const runner of runners) {
      expect((await runner.exec({ argv, env })).stdoutText).toBe("none b\n");
      const live = await runner.spawn({ argv, env });
      expect((await live.stdout.toArray()).join("")).toBe("none b\n");
      await live.result;
    }
  });

  test.each(kSizes)("resize throws for a wrong %s: %j", async (field, size, code) => {
    for (const runner of runners) {
      const pty = { cols: 80, rows: 24 };
      const process = await runner.spawn({ argv: ["sleep", "1000"], pty });
      expectMisuse(
        thrownBy(() => process.resize(size as typeof pty)),
        field,
        code,
      );
      process.resize({ cols: 1, rows: 65535 });
      await process.stop();
    }
  });

  test.each([[[]], [[""]], [["", "x"]]])("exec says that argv %j is required", async (argv) => {
    for (const runner of runners) {
      await expect(runner.exec({ argv })).rejects.toThrow(
        /^NativeRunner\.exec: argv\[0\] is required$/,
      );
    }
  });

  test.each([undefined, null, 5, "x", () => {}])("exec rejects the input %j", async (input) => {
    for (const runner of runners) {
      const running = runner.exec(input as unknown as { argv: string[] });
      expectMisuse(await running.catch((reason: unknown) => reason), "input", kType);
    }
  });

  const thrownBy = (make: () => unknown): unknown => {
    try {
      return make();
    } catch (error) {
      return error;
    }
  };

  const classes = [
    [BubblewrapNativeRunner, kBubblewrapOptions],
    [LandlockNativeRunner, kLandlockOptions],
    [FirejailNativeRunner, kFirejailOptions],
    [LocalNativeRunner, []],
  ] as const;

  for (const [Runner, ownOptions] of classes) {
    test(`${Runner.name} is made where nothing is wrong`, () => {
      expect(thrownBy(() => new Runner({ shadowDir }))).toBeInstanceOf(Runner);
      const root = { shadowDir: "/", workspaceIsRoot: true };
      expect(thrownBy(() => new Runner(root))).toBeInstanceOf(Runner);
    });

    test.each(titled([...kOptions, ...ownOptions]))(
      `${Runner.name} throws for %s`,
      (_, field, change, code) => {
        const options = { shadowDir, ...change } as never;
        expectMisuse(
          thrownBy(() => new Runner(options)),
          field,
          code,
        );
      },
    );
  }

  test.each(
    titled([
      ...kBubblewrapArgvOptions,
      ["commandArgv", { commandArgv: "ls" }, kType],
      ["commandArgv", { commandArgv: undefined }, kType],
      ["argv[0]", { commandArgv: [] }, kValue],
      ["cwd", { cwd: "../x" }, kValue],
      ["cwd", { cwd: 3 }, kType],
    ]),
  )("buildBubblewrapArgv throws for %s", (_, field, change, code) => {
    const options = {
      bwrapPath: "bwrap",
      shadowDir,
      commandArgv: ["ls"],
      network: "deny",
      ...change,
    };
    expectMisuse(
      thrownBy(() => buildBubblewrapArgv(options as never)),
      field,
      code,
    );
  });

  test.each([undefined, null, "x", 5])("the options %j", (options) => {
    expectMisuse(
      thrownBy(() => new BubblewrapNativeRunner(options as never)),
      "options",
      kType,
    );
    expectMisuse(
      thrownBy(() => new LocalNativeRunner(options as never)),
      "options",
      kType,
    );
  });

  test("a getter that throws is what exec rejects with", async () => {
    const mistake = new Error("from a getter");
    for (const runner of runners) {
      const input = {
        get argv(): string[] {
          throw mistake;
        },
      };
      await expect(runner.exec(input)).rejects.toBe(mistake);
    }
  });

  test("a secret value is not shown in a message", async () => {
    for (const runner of runners) {
      const running = runner.exec({ argv: ["true"], env: { TOKEN: "hush\0hush" } });
      await expect(running).rejects.toThrow(/^(?!.*hush)/);
    }
  });
});
