import type { ProcessSandboxHandle } from "../../types/addon.js";
import type {
  BubblewrapProcessSandboxOptions,
  ProcessSandbox,
} from "../../types/process-sandbox.js";
import { fromNative } from "../errors.js";
import { copyOptions } from "../fields.js";
import { loadAddon } from "../native.js";

type Loaded = { handle: ProcessSandboxHandle } | { failure: unknown };

function load(options: BubblewrapProcessSandboxOptions): Loaded {
  let addon: ReturnType<typeof loadAddon>;
  try {
    addon = loadAddon();
  } catch (failure) {
    return { failure }; // a host may prepare its sandboxes where it never wraps anything
  }
  try {
    return { handle: new addon.BubblewrapProcessSandbox(options) };
  } catch (error) {
    throw fromNative(error);
  }
}

/**
 * Bubblewrap around a process that the host starts itself, such as a WASM engine: the process sees
 * `roBinds` read-only, a private /proc, /dev and /tmp, and the command's mounts.
 *
 * `wrap` is pure and deterministic. It gives bwrap's options, the mounts in order, the program, and
 * the arguments, in which a mount's host path reads as its guest path. `env` and `cwd` pass through.
 * Supervision stays the host's: for limits, a seccomp filter, masked secrets and a proven end, run
 * the engine with `BubblewrapNativeRunner`.
 *
 * @throws TypeError that names a wrong option; `wrap` throws TypeError on a wrong command, and
 * {@link SandboxError} where the native addon is missing.
 *
 * @example
 * const sandbox = createBubblewrapProcessSandbox({ network: "deny" });
 * const { spawn } = applyProcessSandbox({ sandbox, command });
 */
export function createBubblewrapProcessSandbox(
  options: BubblewrapProcessSandboxOptions = {},
): ProcessSandbox {
  const loaded = load(copyOptions(options));
  return {
    name: "bubblewrap",
    wrap(command) {
      if ("failure" in loaded) throw loaded.failure;
      try {
        const { env, cwd } = command ?? {};
        return {
          ...loaded.handle.wrap(command),
          ...(env === undefined ? {} : { env }),
          ...(cwd === undefined ? {} : { cwd }),
        };
      } catch (error) {
        throw fromNative(error);
      }
    },
  };
}
