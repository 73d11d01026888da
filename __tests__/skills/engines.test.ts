/** Command lines of the engines that are programs, and what their ends mean. */

import { describe, expect, it } from "vitest";

import type { SkillRequest } from "../../lib/index.js";
import {
  ExternalSkillEngine,
  kIwasm,
  kWasmEdge,
  kWasmer,
  wasmtime,
} from "../../lib/skills/engines/external.js";
import { result } from "../support/fake-addon.js";

const request: SkillRequest = {
  wasmPath: "/srv/echo/echo.wasm",
  input: "--in put",
  trustTier: "untrusted",
  limits: {
    maxMemoryBytes: 1024 ** 2,
    maxFuel: undefined,
    maxDurationMs: 1000,
    maxOutputBytes: 10,
  },
  isComponent: false,
};
const verified: SkillRequest = { ...request, trustTier: "verified" };
const component: SkillRequest = { ...request, isComponent: true };
const withFuel: SkillRequest = { ...request, limits: { ...request.limits, maxFuel: 500 } };

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const end = (exitCode: number, stdout: string, stderr = "") =>
  result({
    exitCode,
    stdout: bytes(stdout),
    stderr: bytes(stderr),
    stdoutBytes: bytes(stdout).length,
  });

describe("wasmtime", () => {
  const engine = new ExternalSkillEngine("/usr/bin/wasmtime", wasmtime("/var/cache/skills"));
  const argv = (it: SkillRequest) => engine.command(it).argv;

  it("is held to memory and time, and given no directory", () => {
    expect(argv(request)).toEqual([
      "/usr/bin/wasmtime",
      "run",
      "-C",
      "cache=n",
      "-W",
      "max-memory-size=1048576",
      "-W",
      "max-memories=8,max-tables=16,max-table-elements=1000000",
      "-W",
      "trap-on-grow-failure=y",
      "-W",
      "timeout=950ms",
      "/srv/echo/echo.wasm",
    ]);
    expect(text(engine.command(request).stdin)).toBe("--in put");
  });

  it("is given fuel", () => {
    expect(argv(withFuel)).toContain("fuel=500");
    expect(argv(request).join(" ")).not.toContain("fuel");
  });

  it("keeps compiled code of verified skills only, in the directory that is its own", () => {
    expect(argv(verified)).toContain("cache=y");
    expect(engine.command(verified).env).toMatchObject({ XDG_CACHE_HOME: "/var/cache/skills" });
    expect(engine.command(request).env).toEqual({});
    const nowhere = new ExternalSkillEngine("/usr/bin/wasmtime", wasmtime(undefined));
    expect(nowhere.command(verified).argv).toContain("cache=n");
  });

  it("calls a component's function with the input as one literal", () => {
    const words = argv({ ...component, input: 'a"), other("b\n' });
    expect(words.slice(-3, -1)).toEqual(["--invoke", 'execute("a\\"), other(\\"b\\u{a}")']);
    expect(engine.command(component).stdin).toHaveLength(0);
  });

  it("says what to do about a component's input that is no argument", () => {
    expect(() => engine.command({ ...component, input: "x".repeat(200_000) })).toThrow(
      expect.objectContaining({ code: "ERR_SKILL_ENGINE", fix: expect.stringContaining("WASI") }),
    );
  });

  it("prints the output, and an answer's form in it is output", () => {
    expect(engine.answer(end(0, "hi"), request)).toEqual({ success: true, output: "hi" });
    const wide = { ...request, limits: { ...request.limits, maxOutputBytes: 100 } };
    const forged = '{"success":false,"error":"x"}';
    expect(engine.answer(end(0, forged), wide)).toEqual({ success: true, output: forged });
  });

  it.each([
    ["fuel", "Error: …\n  2: wasm trap: all fuel consumed by WebAssembly"],
    ["time", "Error: …\n  2: wasm trap: interrupt"],
    ["memory", "Error: …\n  2: forcing trap when growing memory to 131072 bytes"],
  ])("tells that %s ended it by the engine's words", (limit, stderr) => {
    expect(engine.answer(end(134, "", stderr), request)).toMatchObject({
      success: false,
      error_kind: "limit",
      limit,
    });
  });

  it("takes every other exit code for the skill's failure", () => {
    expect(engine.answer(end(3, "output", "no"), request)).toMatchObject({
      error_kind: "exit",
      exit_code: 3,
    });
  });

  it.each([
    ['ok("fine")\n', { success: true, output: "fine" }],
    ['err("no")\n', { success: false, error_kind: "exit", error: "no" }],
  ])("reads a component's result %j", (stdout, answer) => {
    expect(engine.answer(end(0, stdout), component)).toEqual(answer);
  });

  it.each(["", "forged\n", 'ok("forged")\nok("fine")\n', "ok(1)\n"])(
    "does not read a result out of %j",
    (stdout) => {
      expect(engine.answer(end(0, stdout), component)).toMatchObject({ error_kind: "protocol" });
    },
  );
});

describe("the others", () => {
  it.each([
    [kWasmer, ["/bin/x", "run", "/srv/echo/echo.wasm"]],
    [kIwasm, ["/bin/x", "/srv/echo/echo.wasm"]],
    [
      kWasmEdge,
      [
        "/bin/x",
        "--memory-page-limit",
        "16",
        "--time-limit",
        "1000",
        "--gas-limit",
        "500",
        "--",
        "/srv/echo/echo.wasm",
      ],
    ],
  ])("$name", (description, argv) => {
    const engine = new ExternalSkillEngine("/bin/x", description);
    expect(engine.command(withFuel).argv).toEqual(argv);
    expect(engine.command(withFuel).readable).toEqual(["/bin/x"]);
  });

  it.each([kWasmer, kIwasm, kWasmEdge])("$name runs no components and says so", (description) => {
    const engine = new ExternalSkillEngine("/bin/x", description);
    expect(() => engine.command(component)).toThrow(/runs no components/);
  });

  it("cut an output at its limit", () => {
    const engine = new ExternalSkillEngine("/bin/x", kWasmer);
    expect(engine.command(request).maxStdoutBytes).toBe(11);
    expect(engine.answer(end(0, "x".repeat(11)), request)).toMatchObject({ limit: "output" });
    expect(engine.answer(end(0, "x".repeat(10)), request)).toMatchObject({ success: true });
  });

  it("refuse an output that is no UTF-8", () => {
    const engine = new ExternalSkillEngine("/bin/x", kWasmer);
    const broken = { ...end(0, "ab"), stdout: new Uint8Array([0xff, 0xfe]) };
    expect(engine.answer(broken, request)).toMatchObject({ error_kind: "protocol" });
  });
});
