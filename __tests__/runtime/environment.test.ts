import { describe, expect, it } from "vitest";
import { readRuntimeEnvironment, withEnvironment } from "../../lib/runtime/environment.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";

const kType = "OPENAGENTIC_RUNTIME_TYPE";
const kAlias = "ZEPTOCLAW_RUNTIME_TYPE";
const kBackend = "OPENAGENTIC_SANDBOX_BACKEND";
const kProcess = "OPENAGENTIC_PROCESS_SANDBOX";
const kRequired = "OPENAGENTIC_SANDBOX_REQUIRED";

describe("which runtime", () => {
  it.each([
    [{}, undefined],
    [{ [kType]: "" }, undefined],
    [{ [kType]: "landlock" }, "landlock"],
    [{ [kAlias]: "firejail" }, "firejail"],
    [{ [kBackend]: "none" }, "native"],
    [{ [kBackend]: "bwrap" }, "bubblewrap"],
    [{ [kBackend]: "auto" }, "auto"],
    [{ [kProcess]: "bwrap" }, "bubblewrap"],
    [{ [kType]: "bubblewrap", [kBackend]: "bwrap", [kProcess]: "bwrap" }, "bubblewrap"],
  ])("%j: %s, without a warning", (variables, runtimeType) => {
    expect(readRuntimeEnvironment(variables)).toMatchObject({ runtimeType, warnings: [] });
  });

  it.each([
    [{ [kType]: "landlock", [kBackend]: "bwrap" }, "landlock", /RUNTIME_TYPE wins/],
    [{ [kType]: "landlock", [kAlias]: "native" }, "landlock", /ZEPTOCLAW_RUNTIME_TYPE=native/],
    [{ [kBackend]: "firejail", [kProcess]: "bwrap" }, "firejail", /SANDBOX_BACKEND wins/],
    [{ [kBackend]: "none", [kProcess]: "bwrap" }, "native", /contradict/],
    [
      { [kProcess]: "docker" },
      undefined,
      /^ignoring unsupported OPENAGENTIC_PROCESS_SANDBOX=docker/,
    ],
  ])("%j: %s, with a warning; an error when required", (variables, runtimeType, warning) => {
    const said = readRuntimeEnvironment(variables);
    expect(said.runtimeType).toBe(runtimeType);
    expect(said.warnings).toEqual([expect.stringMatching(warning)]);
    for (const required of [kRequired, "OPENAGENTIC_PROCESS_SANDBOX_REQUIRED"]) {
      expect(() => readRuntimeEnvironment({ ...variables, [required]: "1" })).toThrow(
        expect.objectContaining({ code: "ERR_INVALID_ARG_VALUE" }),
      );
    }
  });

  it.each([
    [{ [kType]: "landlok" }, /OPENAGENTIC_RUNTIME_TYPE=landlok.*did you mean `landlock`/],
    [{ [kType]: "bwrap" }, /OPENAGENTIC_RUNTIME_TYPE=bwrap is not one of/],
    [{ [kBackend]: "constructor" }, /OPENAGENTIC_SANDBOX_BACKEND=constructor/],
    [{ [kRequired]: "yes" }, /OPENAGENTIC_SANDBOX_REQUIRED=yes/],
    [{ OPENAGENTIC_BWRAP_NETWORK: "off" }, /OPENAGENTIC_BWRAP_NETWORK=off/],
    [{ OPENAGENTIC_SANDBOX_NETWORK: "DENY" }, /OPENAGENTIC_SANDBOX_NETWORK=DENY/],
    [{ [kType]: "native", [kRequired]: "1" }, /a sandbox is required/],
    [{ [kBackend]: "none", [kRequired]: "1" }, /a sandbox is required/],
  ])("%j is an error", (variables, message) => {
    expect(() => readRuntimeEnvironment(variables)).toThrow(message);
  });
});

describe("what the variables change", () => {
  const config = parseRuntimeConfig({ runtimeType: "landlock", allowFallbackToNative: true });
  const changed = (variables: Record<string, string>) =>
    withEnvironment(config, readRuntimeEnvironment(variables));

  it("is nothing when none is set", () => {
    expect(changed({})).toEqual(config);
  });

  it("forbids the fallback when required", () => {
    expect(changed({ [kRequired]: "1" }).allowFallbackToNative).toBe(false);
    expect(changed({ [kRequired]: "0" }).allowFallbackToNative).toBe(true);
  });

  it("lets the bwrap variables win for bubblewrap only", () => {
    const found = changed({
      OPENAGENTIC_BWRAP_PATH: "/opt/bwrap",
      OPENAGENTIC_BWRAP_NETWORK: "allow",
      OPENAGENTIC_BWRAP_RO_BINDS: "/usr, /lib,,",
      OPENAGENTIC_SANDBOX_RO_BINDS: "/opt",
    });
    expect(found.network).toBe("deny");
    expect(found.bubblewrap).toMatchObject({
      bwrapPath: "/opt/bwrap",
      network: "allow",
      roBinds: ["/usr", "/lib"],
    });
  });

  it("takes the common variables for all", () => {
    const found = changed({
      OPENAGENTIC_SANDBOX_NETWORK: "allow",
      OPENAGENTIC_SANDBOX_RO_BINDS: "/opt",
    });
    expect(found).toMatchObject({
      network: "allow",
      bubblewrap: { network: "allow", roBinds: ["/opt"] },
    });
  });

  it.each(["OPENAGENTIC_BWRAP_RO_BINDS", "OPENAGENTIC_SANDBOX_RO_BINDS"])(
    "wants absolute paths in %s",
    (name) => {
      for (const value of ["usr", "/usr,lib", ","]) {
        expect(() => readRuntimeEnvironment({ [name]: value })).toThrow(
          expect.objectContaining({
            code: "ERR_INVALID_ARG_VALUE",
            message: `${name}=${value} is not a comma list of absolute paths`,
          }),
        );
      }
    },
  );
});
