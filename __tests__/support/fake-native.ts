/**
 * What stands for lib/native.ts where the addon is a {@link FakeAddon}. A test file mocks the module
 * with {@link fakeNative} and takes a fresh addon before each test.
 */

import { SandboxError } from "../../lib/errors.js";
import { FakeAddon } from "./fake-addon.js";

let current: FakeAddon | undefined;

/** The module with `loadAddon` giving the addon that was made last. */
export function fakeNative<Native extends object>(original: Native) {
  const loadAddon = () => {
    if (!current) throw new SandboxError("no addon", { code: "ERR_SANDBOX_UNAVAILABLE" });
    return current.addon;
  };
  return { ...original, loadAddon };
}

/** A new addon, which `loadAddon` gives from now on. */
export function freshAddon(): FakeAddon {
  current = new FakeAddon();
  return current;
}

/** From now on there is none. */
export function withoutAddon(): void {
  current = undefined;
}
