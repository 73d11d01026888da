/** Selects the OS sandbox for untrusted skills and restricts it. There is no unconfined fallback. */

import { existsSync } from "node:fs";

import { SandboxError } from "../errors.js";
import type { FieldsOf } from "../fields.js";
import type { RuntimeConfig, RuntimeConfigInput } from "../runtime/config.js";
import { ConfiguredRuntime } from "../runtime/configured-runtime.js";
import { createRuntime } from "../runtime/create.js";
import { readRuntimeEnvironment, type Variables } from "../runtime/environment.js";
import { kKinds } from "../runtime/kinds.js";
import { parseRuntimeConfig } from "../runtime/parse-config.js";
import {
  type RuntimeRunner,
  type RuntimeStep,
  RuntimeUnavailableError,
} from "../runtime/runtime.js";

/** The runtimes that may hold an untrusted skill, the stronger first. */
const kSkillRuntimes = ["bubblewrap", "landlock"] as const;

/** A runtime that may hold an untrusted skill. */
export type SkillRuntimeName = (typeof kSkillRuntimes)[number];

/** Options for selecting the sandbox. */
export type ConfinementOptions = {
  /** "auto" (default): Bubblewrap, otherwise Landlock. */
  runtime?: "auto" | SkillRuntimeName | undefined;
  /** The bwrap program. Default "bwrap". */
  bwrapPath?: string | undefined;
  /** The operator's variables, which override these options. Default process.env; `{}` for none. */
  environment?: Variables | undefined;
};

export const kConfinementOptions: FieldsOf<ConfinementOptions> = {
  runtime: true,
  bwrapPath: true,
  environment: true,
};

const kPrivileges = ["no-capabilities", "no-new-privs", "seccomp"];
const kNamespaces = ["mount-namespace", "read-only-root", "pid-namespace", "network-namespace"];
const kLandlock = ["landlock-fs", "no-sockets"];

/**
 * Layers that are required for an untrusted skill, in the order in which the runtimes are tried. If Landlock
 * has no pid namespace, its own scope confines signals, also from the launcher, which is then responsible for
 * ending all processes.
 */
const kRequired: readonly (readonly [SkillRuntimeName, readonly string[]])[] = [
  ["bubblewrap", [...kNamespaces, ...kPrivileges]],
  ["landlock", [...kLandlock, "pid-namespace", ...kPrivileges]],
  ["landlock", [...kLandlock, "landlock-scope", ...kPrivileges]],
];

/** Paths in which the dynamic loader finds the libraries of an engine. */
const kLibraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];

/** A sandbox that was tested on this host. */
type Confinement = {
  name: SkillRuntimeName;
  /**
   * Creates a runner whose processes can read `readable` and the system's libraries, write only to memory,
   * and have no network.
   *
   * @param shadowDir an empty directory, in which the process starts.
   */
  runner(shadowDir: string, readable: readonly string[]): RuntimeRunner;
};

function candidates(options: ConfinementOptions): {
  names: readonly SkillRuntimeName[];
  bwrapPath: string | undefined;
} {
  const said = readRuntimeEnvironment(options.environment ?? process.env);
  const bwrapPath = said.bubblewrap.bwrapPath ?? options.bwrapPath;
  const type = said.runtimeType ?? options.runtime ?? "auto";
  if (type === "auto") return { names: kSkillRuntimes, bwrapPath };
  const name = kSkillRuntimes.find((each) => each === type);
  if (name !== undefined) return { names: [name], bwrapPath };
  const source = said.runtimeType === undefined ? "the option `runtime`" : "the environment";
  throw new SandboxError(
    `untrusted skills run under bubblewrap or landlock only; ${source} chooses ${type}`,
    { code: "ERR_SANDBOX_UNAVAILABLE", fix: "choose auto, bubblewrap or landlock" },
  );
}

/** The configuration that the canary tests: it needs a shell, so it can read more than a skill's process. */
function provedConfig(
  runtimeType: SkillRuntimeName,
  required: readonly string[],
  bwrapPath: string | undefined,
): RuntimeConfigInput {
  return { runtimeType, network: "deny", required, bubblewrap: { bwrapPath } };
}

/** Returns the configuration with the least read and write access that the runtime supports. */
function narrowed(config: RuntimeConfig, readable: readonly string[]): RuntimeConfig {
  const libraries = kLibraries.filter((path) => existsSync(path));
  const paths = [...new Set([...libraries, ...readable])];
  return {
    ...config,
    bubblewrap: {
      ...config.bubblewrap,
      roBinds: paths,
      home: "none",
      tools: "none",
      // Only /tmp and /dev/shm remain writable; they are in memory and end with the run.
      allowWriteWorkspace: false,
    },
    landlock: {
      ...config.landlock,
      fsReadDirs: paths,
      fsWriteDirs: [],
      home: "none",
      tools: "none",
      allowWriteWorkspace: false,
    },
  };
}

/**
 * Returns the sandbox for untrusted skills, tested by a canary run like `createRuntime`; the result is cached
 * for the process.
 *
 * @throws (rejects) RuntimeUnavailableError if none works here; SandboxError if the operator's variables
 * select a runtime that does not confine; TypeError for an invalid variable.
 */
export async function confine(options: ConfinementOptions = {}): Promise<Confinement> {
  const { names, bwrapPath } = candidates(options);
  const steps: RuntimeStep[] = [];
  for (const [name, required] of kRequired) {
    if (!names.includes(name)) continue;
    const config = parseRuntimeConfig(provedConfig(name, required, bwrapPath));
    try {
      await createRuntime(config, { environment: {} });
    } catch (error) {
      if (!(error instanceof RuntimeUnavailableError)) throw error;
      steps.push(...error.steps);
      continue;
    }
    return {
      name,
      runner: (shadowDir, readable) => {
        const runtime = new ConfiguredRuntime(kKinds[name], narrowed(config, readable));
        return runtime.runner({ shadowDir, envPolicy: "clean" });
      },
    };
  }
  throw new RuntimeUnavailableError("no sandbox for untrusted skills works here", steps);
}
