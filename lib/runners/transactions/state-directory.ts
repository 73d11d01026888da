import { isAbsolute, join } from "node:path";

import { homeDirectory } from "../../homes.js";

/**
 * Where transactions are kept unless an option says so: in $XDG_STATE_HOME, which counts only where it is
 * absolute, else in ~/.local/state (XDG Base Directory Specification).
 */
export function defaultStateDirectory(): string {
  const named = process.env.XDG_STATE_HOME ?? "";
  const state = isAbsolute(named) ? named : join(homeDirectory(), ".local", "state");
  return join(state, "openagentic", "transactions");
}
