import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import { networkOf, type PolicyOptions, resolvePolicy } from "../../lib/cli/policy.js";
import { CliError } from "../../lib/cli/terminal.js";
import type { Variables } from "../../lib/runtime/environment.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";

type Case = { options?: PolicyOptions; file?: object; variables?: Variables };

function policy({ options = {}, file, variables = {} }: Case) {
  const parsed = file === undefined ? undefined : parseRuntimeConfig(file);
  return resolvePolicy({ options, file: parsed, variables });
}

const kNetwork = (mode: string) => ({ OPENAGENTIC_SANDBOX_NETWORK: mode });

describe("the runtime", () => {
  it.each<[Case, string, string | undefined]>([
    [{}, "auto", undefined],
    [{ file: { runtimeType: "firejail" } }, "firejail", "--config"],
    [{ file: {} }, "auto", "--config"],
    [
      { file: { runtimeType: "firejail" }, variables: { OPENAGENTIC_SANDBOX_BACKEND: "bwrap" } },
      "bubblewrap",
      "OPENAGENTIC_SANDBOX_BACKEND",
    ],
    [
      { options: { runtime: "landlock" }, variables: { OPENAGENTIC_RUNTIME_TYPE: "bubblewrap" } },
      "landlock",
      "--runtime",
    ],
    [{ variables: { ZEPTOCLAW_RUNTIME_TYPE: "auto" } }, "auto", "ZEPTOCLAW_RUNTIME_TYPE"],
  ])("of %j is %s, by %s", (sources, runtimeType, chosenBy) => {
    expect(policy(sources)).toMatchObject({ config: { runtimeType }, chosenBy });
  });
});

describe("the network", () => {
  it.each<[Case, "allow" | "deny"]>([
    [{}, "deny"],
    [{ options: { network: "allow" } }, "allow"],
    [{ file: { network: "allow" } }, "allow"],
    [{ variables: kNetwork("allow") }, "allow"],
    [{ file: { network: "allow" }, variables: kNetwork("deny") }, "deny"],
    [{ file: { network: "deny" }, variables: kNetwork("allow") }, "allow"],
    [{ options: { network: "deny" }, variables: kNetwork("allow") }, "deny"],
    [{ options: { network: "allow" }, file: { network: "deny" } }, "allow"],
    [{ options: { network: "deny" }, file: { bubblewrap: { network: "allow" } } }, "deny"],
    [{ variables: { ...kNetwork("deny"), OPENAGENTIC_BWRAP_NETWORK: "allow" } }, "allow"],
    [{ variables: { ...kNetwork("allow"), OPENAGENTIC_BWRAP_NETWORK: "deny" } }, "deny"],
  ])("of %j is %s", (sources, network) => {
    expect(networkOf(policy(sources).config, "bubblewrap")).toBe(network);
  });

  it.each<[Case, string]>([
    [{ variables: kNetwork("deny") }, "OPENAGENTIC_SANDBOX_NETWORK=deny"],
    [{ variables: { OPENAGENTIC_BWRAP_NETWORK: "deny" } }, "OPENAGENTIC_BWRAP_NETWORK=deny"],
    [
      { options: { runtime: "auto" }, variables: { OPENAGENTIC_BWRAP_NETWORK: "deny" } },
      "OPENAGENTIC_BWRAP_NETWORK=deny",
    ],
    [
      { options: { runtime: "landlock" }, variables: kNetwork("deny") },
      "OPENAGENTIC_SANDBOX_NETWORK=deny",
    ],
  ])("that %j denies is allowed by no option", (sources, variable) => {
    const allowed = { ...sources, options: { ...sources.options, network: "allow" as const } };
    const refused = () => policy(allowed);
    expect(refused).toThrow(CliError);
    expect(refused).toThrow(`--network allow, but the operator set ${variable}`);
    expect(() => policy(sources)).not.toThrow();
  });

  it("is refused where the runtime can't deny it", () => {
    const runtime = "native" as const;
    expect(() => policy({ options: { runtime }, variables: kNetwork("deny") })).toThrow(
      "can't deny the network, but the operator set OPENAGENTIC_SANDBOX_NETWORK=deny",
    );
    expect(() => policy({ options: { runtime, network: "deny" } })).toThrow("--network deny");
    expect(networkOf(policy({ options: { runtime } }).config, runtime)).toBe("allow");
  });

  it("of Landlock is no matter of bwrap's variable", () => {
    const sources: Case = {
      options: { runtime: "landlock", network: "allow" },
      variables: { OPENAGENTIC_BWRAP_NETWORK: "deny" },
    };
    expect(networkOf(policy(sources).config, "landlock")).toBe("allow");
  });
});

describe("bwrap's path", () => {
  const variables = { OPENAGENTIC_BWRAP_PATH: "/of/operator" };
  const file = { bubblewrap: { bwrapPath: "/of/file" } };

  it.each<[Case, string]>([
    [{}, "bwrap"],
    [{ file }, "/of/file"],
    [{ file, variables }, "/of/operator"],
    [{ file, variables, options: { bwrap: "/of/option" } }, "/of/option"],
  ])("of %j is %s", (sources, path) => {
    expect(policy(sources).config.bubblewrap.bwrapPath).toBe(path);
  });
});

describe("what is mounted read-only", () => {
  const roBinds = (sources: Case) => policy(sources).config.bubblewrap.roBinds;

  it("is what is named, and the default that this host has", () => {
    expect(roBinds({ options: { roBind: ["/opt", "/usr", "/opt"] } })).toEqual(
      expect.arrayContaining(["/usr", "/etc", "/opt"]),
    );
    expect(roBinds({ options: { roBind: ["lib"], defaultRoBinds: false } })).toEqual([
      resolve("lib"),
    ]);
    expect(roBinds({ options: { defaultRoBinds: false } })).toEqual([]);
  });

  it("is the operator's list in place of the default, and --ro-bind besides", () => {
    const variables = { OPENAGENTIC_SANDBOX_RO_BINDS: "/usr,/srv/nowhere" };
    expect(roBinds({ variables })).toEqual(["/usr", "/srv/nowhere"]);
    expect(roBinds({ variables, options: { roBind: ["/opt"] } })).toEqual([
      "/usr",
      "/srv/nowhere",
      "/opt",
    ]);
  });

  it("is what Landlock lets be read", () => {
    const { landlock } = policy({ options: { roBind: ["/opt"], defaultRoBinds: false } }).config;
    expect(landlock.fsReadDirs).toEqual(["/opt"]);
  });
});

describe("an option that the runtime can't honour", () => {
  it.each<[PolicyOptions, string]>([
    [{ runtime: "landlock", isolation: "compat" }, "--isolation"],
    [{ runtime: "landlock", isolation: "strict" }, "--isolation"],
    [{ runtime: "firejail", bwrap: "/opt/bwrap" }, "--bwrap"],
    [{ runtime: "native", roBind: ["/opt"] }, "--ro-bind"],
    [{ runtime: "firejail", defaultRoBinds: false }, "--no-default-ro-binds"],
  ])("is refused: %j", (options, name) => {
    const message = `${name} means nothing to --runtime ${options.runtime}`;
    expect(() => policy({ options })).toThrow(message);
    expect(() => policy({ options: { ...options, runtime: "auto" } })).not.toThrow();
  });

  it("is --device where a runtime has no devices, or may have none", () => {
    const device = ["/dev/kvm"];
    for (const runtime of ["firejail", "native", "auto"] as const) {
      expect(() => policy({ options: { runtime, device } })).toThrow(
        `--device means nothing to --runtime ${runtime}`,
      );
    }
    const file = { runtimeType: "bubblewrap", bubblewrap: { devices: ["dri", "/dev/kvm"] } };
    expect(policy({ options: { device } }).config.bubblewrap.devices).toEqual(device);
    expect(policy({ options: { runtime: "landlock", device } }).config.landlock.devices).toEqual(
      device,
    );
    expect(policy({ options: { device: ["fuse"] }, file }).config.bubblewrap.devices).toEqual([
      "dri",
      "/dev/kvm",
      "fuse",
    ]);
    expect(policy({ options: {} }).config.bubblewrap).not.toHaveProperty("devices");
  });

  it("is --mount also where another runtime may be taken", () => {
    const mount = [{ hostPath: "/srv", mode: "rw" as const }];
    for (const runtime of ["landlock", "firejail", "native", "auto"] as const) {
      expect(() => policy({ options: { runtime, mount } })).toThrow(
        `--mount means nothing to --runtime ${runtime}`,
      );
    }
    const file = {
      runtimeType: "bubblewrap",
      bubblewrap: { mounts: [{ hostPath: "/a", mode: "ro" }] },
    };
    for (const sources of [{ options: { mount } }, { options: { mount }, file }]) {
      const { mounts } = policy(sources).config.bubblewrap;
      expect(mounts).toEqual([...("file" in sources ? file.bubblewrap.mounts : []), ...mount]);
    }
  });

  it("is refused whoever chose the runtime", () => {
    const sources: Case = {
      options: { isolation: "compat" },
      variables: { OPENAGENTIC_RUNTIME_TYPE: "landlock" },
    };
    expect(() => policy(sources)).toThrow(
      "--isolation means nothing to landlock (OPENAGENTIC_RUNTIME_TYPE)",
    );
  });
});

describe("what the operator requires", () => {
  it("holds against --runtime", () => {
    const required = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    const { config, ...rest } = policy({ options: { runtime: "landlock" }, variables: required });
    expect(rest.required).toBe(true);
    const file = { allowFallbackToNative: true };
    expect(policy({ file, variables: required }).config.allowFallbackToNative).toBe(false);
    expect(policy({ file }).config.allowFallbackToNative).toBe(true);
    expect(config.runtimeType).toBe("landlock");
  });

  it("is told where variables contradict each other", () => {
    const variables = {
      OPENAGENTIC_RUNTIME_TYPE: "landlock",
      OPENAGENTIC_PROCESS_SANDBOX: "bwrap",
    };
    expect(policy({ variables }).warnings).toEqual([
      expect.stringContaining("contradict each other"),
    ]);
    expect(policy({ variables, options: { runtime: "auto" } }).warnings).toEqual([]);
  });
});
