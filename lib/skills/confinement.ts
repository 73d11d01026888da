/** Which OS sandbox untrusted skills run in, and how narrow it is. There is no fallback. */

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

/** How the sandbox is chosen. */
export type ConfinementOptions = {
  /** "auto" (default): Bubblewrap, else Landlock. */
  runtime?: "auto" | SkillRuntimeName | undefined;
  /** The bwrap program. Default "bwrap". */
  bwrapPath?: string | undefined;
  /** The operator's variables, which win. Default process.env; `{}` for none. */
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
 * Layers without which an untrusted skill does not run, in the order in which they are tried. Where
 * Landlock can't have a pid namespace, its own scope keeps signals in: to the launcher as well, whose
 * work the end of all processes is then.
 */
const kRequired: readonly (readonly [SkillRuntimeName, readonly string[]])[] = [
  ["bubblewrap", [...kNamespaces, ...kPrivileges]],
  ["landlock", [...kLandlock, "pid-namespace", ...kPrivileges]],
  ["landlock", [...kLandlock, "landlock-scope", ...kPrivileges]],
];

/** Where the dynamic loader finds the libraries of an engine. */
const kLibraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];

/** A sandbox that was proved to work here. */
type Confinement = {
  name: SkillRuntimeName;
  /**
   * A runner under which a process reads `readable` and the system's libraries, writes only into
   * memory, and has no network.
   *
   * @param shadowDir an empty directory, the one it starts in.
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

/** What the canary proves: it needs a shell, so it sees more than a skill's process. */
function provedConfig(
  runtimeType: SkillRuntimeName,
  required: readonly string[],
  bwrapPath: string | undefined,
): RuntimeConfigInput {
  return { runtimeType, network: "deny", required, bubblewrap: { bwrapPath } };
}

/** The same with as little to read and to write as the runtime can have. */
function narrowed(config: RuntimeConfig, readable: readonly string[]): RuntimeConfig {
  const libraries = kLibraries.filter((path) => existsSync(path));
  const paths = [...new Set([...libraries, ...readable])];
  return {
    ...config,
    bubblewrap: {
      ...config.bubblewrap,
      roBinds: paths,
      // What is left to write is /tmp and /dev/shm, which are memory and end with the run.
      allowWriteWorkspace: false,
    },
    landlock: {
      ...config.landlock,
      fsReadDirs: paths,
      fsWriteDirs: [],
      allowWriteWorkspace: false,
    },
  };
}

/**
 * The sandbox for untrusted skills, proved by a canary run as `createRuntime` does; the answer is
 * kept for the process.
 *
 * @throws (rejects) RuntimeUnavailableError when none works here, SandboxError when the operator's
 * variables choose one that does not confine; TypeError for a variable that is not understood.
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
