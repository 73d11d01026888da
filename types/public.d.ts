/**
 * The public types. Shipped unchanged and re-exported by lib/index.ts; this file holds no code.
 *
 * Optional fields also accept `undefined`, so that hosts compiled with `exactOptionalPropertyTypes` can pass
 * on fields that they do not have.
 */

export * from "./denials.js";
export * from "./live-process.js";
export * from "./network.js";
export * from "./outcome.js";
export * from "./run.js";
export * from "./runner-options.js";

/**
 * Why no sandbox is available. ERR_SANDBOX_UNAVAILABLE: the host is not Linux, or has no binary of this
 * package, or no usable bwrap, firejail or Landlock. ERR_SANDBOX_SETUP: the host refused something that every
 * run needs. ERR_SANDBOX_CLOSED: the runner was closed, the session has ended, or the Node environment is
 * shutting down. ERR_COMMAND_BLOCKED: shell lists that the operator set refuse the command.
 */
export type SandboxErrorCode =
  | "ERR_SANDBOX_UNAVAILABLE"
  | "ERR_SANDBOX_SETUP"
  | "ERR_SANDBOX_CLOSED"
  | "ERR_COMMAND_BLOCKED";
