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
    return { failure }; // a host may create sandboxes on a machine where it never wraps
  }
  try {
    return { handle: new addon.BubblewrapProcessSandbox(options) };
  } catch (error) {
    throw fromNative(error);
  }
}

/**
 * Creates a Bubblewrap sandbox for processes that the host starts itself, such as a WASM engine: the process
 * sees `roBinds` read-only, a private /proc, /dev and /tmp, and the command's mounts.
 *
 * `wrap` is pure and deterministic. It returns bwrap's options, the mounts in order, the program, and the
 * arguments, in which each mount's host path is replaced by its guest path. `env` and `cwd` pass through. The
 * host supervises the process itself: for limits, a seccomp filter, masked secrets and a proved end, run the
 * engine with `BubblewrapNativeRunner`.
 *
 * @throws TypeError naming an invalid option; `wrap` throws TypeError on an invalid command, and
 * {@link SandboxError} if the native addon is missing.
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
