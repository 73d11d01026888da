import { inspect } from "node:util";
import { describe, expect, it } from "vitest";

import { fromNative, invalidType, SandboxError, type SandboxErrorOptions } from "../lib/errors.js";
import { nativeError } from "./support/fake-addon.js";

describe("SandboxError", () => {
  it("has a code, a fix and a cause", () => {
    const cause = new Error("why");
    const error = new SandboxError("no", { code: "ERR_SANDBOX_SETUP", fix: "do", cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "SandboxError", code: "ERR_SANDBOX_SETUP", fix: "do" });
    expect(error.cause).toBe(cause);
    expect("cause" in new SandboxError("no", { code: "ERR_SANDBOX_SETUP" })).toBe(false);
  });

  const printed = (options: Partial<SandboxErrorOptions>) =>
    inspect(new SandboxError("x", { code: "ERR_SANDBOX_SETUP", ...options }));

  it("prints nothing that is not there", () => {
    expect(printed({})).not.toContain("undefined");
    expect(printed({ fix: "do y", results: [] })).toMatch(/fix: 'do y'[\s\S]*results: \[\]/);
  });
});

describe("fromNative", () => {
  it("makes a SandboxError of the addon's plain one", () => {
    const error = fromNative(nativeError("bwrap not found", "ERR_SANDBOX_UNAVAILABLE", "install"));
    expect(error).toBeInstanceOf(SandboxError);
    expect(error).toMatchObject({
      message: "bwrap not found",
      code: "ERR_SANDBOX_UNAVAILABLE",
      fix: "install",
    });
    const without = fromNative(nativeError("x", "ERR_SANDBOX_SETUP", "")) as SandboxError;
    expect(without).toBeInstanceOf(SandboxError);
    expect(without.fix).toBeUndefined();
  });

  it("leaves everything else as it is", () => {
    const misuse = Object.assign(new TypeError("argv"), { code: "ERR_INVALID_ARG_TYPE" });
    const sandbox = new SandboxError("x", { code: "ERR_SANDBOX_CLOSED" });
    for (const error of [misuse, sandbox, new Error("x"), "text", undefined, null]) {
      expect(fromNative(error)).toBe(error);
    }
  });
});

describe("invalidType", () => {
  it.each([
    [null, "got null"],
    [undefined, "got undefined"],
    ["x", 'got "x"'],
    [{}, "got an object"],
    [() => {}, "got a function"],
    [5, "got 5"],
  ])("names the field and what came: %j", (value, got) => {
    const error = invalidType("signal", "an AbortSignal", value);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: "ERR_INVALID_ARG_TYPE" });
    expect(error.message).toBe(`Expected \`signal\` to be an AbortSignal, ${got}`);
  });
});
