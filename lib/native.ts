/**
 * The only loader of the addon. Importing this module never throws and does no I/O: the binary is searched
 * for on first use, once per Node environment; a failure is remembered and thrown on every use.
 *
 * Search places, below packageRoot(): build/<preset>/ of a checkout, otherwise prebuilds/<platform>-<arch>/ of an installed
 * package, with the suffix -musl for musl, such as Alpine's. OPENAGENTIC_NATIVE_RUNNER_PRESET names one build
 * and allows no other (sanitizer runs).
 */

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import type { NativeAddon } from "../types/addon.js";
import { SandboxError } from "./errors.js";
import { resultMaker } from "./exec-result.js";
import { packageRoot } from "./package-root.js";

/** The host that the loader runs on; tests inject a fake platform or addon here. */
export type LoaderHost = {
  platform: string;
  arch: string;
  /** The C library of the process: "glibc", "musl", or null if unknown. Called only when it matters. */
  libc(): string | null;
  /** The package's folder. */
  root: string;
  /** Value of OPENAGENTIC_NATIVE_RUNNER_PRESET. */
  preset: string | undefined;
  exists(path: string): boolean;
  /** Loads a .node file; throws the error of dlopen. */
  load(path: string): unknown;
};

/** The targets that releases include: scripts/lib/targets.mjs. */
const kPrebuilt: readonly string[] = ["linux-x64", "linux-arm64", "linux-x64-musl"];

const kAddon = "native_runner.node";
const kPresets: readonly string[] = ["release", "debug", "asan", "tsan"];

function unavailable(message: string, fix: string, cause?: unknown): SandboxError {
  return new SandboxError(message, { code: "ERR_SANDBOX_UNAVAILABLE", fix, cause });
}

function targetOf(host: LoaderHost): string {
  return `${host.platform}-${host.arch}${host.libc() === "musl" ? "-musl" : ""}`;
}

function folderOf(host: LoaderHost): string {
  const build = (preset: string) => join(host.root, "build", preset);
  if (host.preset === undefined || host.preset === "") {
    const release = build("release");
    const isBuilt = host.exists(join(release, kAddon));
    return isBuilt ? release : join(host.root, "prebuilds", targetOf(host));
  }
  if (kPresets.includes(host.preset)) return build(host.preset);
  throw unavailable(
    `OPENAGENTIC_NATIVE_RUNNER_PRESET: no such build "${host.preset}"`,
    `unset it, or choose one of ${kPresets.join(", ")}`,
  );
}

function missing(host: LoaderHost): SandboxError {
  const target = targetOf(host);
  if (host.exists(join(host.root, "scripts", "build.mjs"))) {
    const option = host.preset ? ` -- --preset ${host.preset}` : "";
    return unavailable(
      `the native addon is not built (${target})`,
      `run \`npm run build${option}\` in ${host.root}`,
    );
  }
  if (!kPrebuilt.includes(target)) {
    return unavailable(
      `there is no prebuilt binary for ${target}`,
      `use one for which there is (${kPrebuilt.join(", ")}), or build the package from a checkout with \`npm run build\``,
    );
  }
  return unavailable(
    `the native binary is missing from ${host.root}`,
    "reinstall @openagentic/native-runner; in a bundle leave it external, or put its prebuilds folder beside the bundle",
  );
}

function load(host: LoaderHost): NativeAddon {
  if (host.platform !== "linux") {
    throw unavailable(
      `@openagentic/native-runner needs Linux, this is ${host.platform}`,
      "run the host application on Linux: a container, a virtual machine, or WSL 2 on Windows",
    );
  }
  const folder = folderOf(host);
  const binary = join(folder, kAddon);
  const launcherPath = join(folder, "launcher");
  if (!host.exists(binary) || !host.exists(launcherPath)) throw missing(host);
  try {
    const addon = host.load(binary) as NativeAddon;
    addon.configure({ launcherPath, makeResult: resultMaker(addon.reportFields) });
    return addon;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unavailable(
      `the native binary can't be loaded: ${reason}`,
      "on a C library older than the README's, build from a checkout with `npm run build`",
      cause,
    );
  }
}

/** Returns a loader that searches at most once and remembers the result, including a failure. */
export function createAddonLoader(describeHost: () => LoaderHost): () => NativeAddon {
  let found: { addon: NativeAddon } | { failure: unknown } | undefined;
  return () => {
    if (found === undefined) {
      try {
        found = { addon: load(describeHost()) };
      } catch (failure) {
        found = { failure };
      }
    }
    if ("failure" in found) throw found.failure;
    return found.addon;
  };
}

/** Returns the C library that this process has loaded; null if that can't be found out. */
function loadedLibc(): string | null {
  try {
    return /\/ld-musl-/.test(readFileSync("/proc/self/maps", "latin1")) ? "musl" : "glibc";
  } catch {
    return null;
  }
}

/**
 * Returns the addon of this Node environment.
 * @throws SandboxError ERR_SANDBOX_UNAVAILABLE if the addon can't be found or loaded.
 */
export const loadAddon: () => NativeAddon = createAddonLoader(() => ({
  platform: process.platform,
  arch: process.arch,
  libc: loadedLibc,
  root: packageRoot(),
  preset: process.env.OPENAGENTIC_NATIVE_RUNNER_PRESET,
  exists: existsSync,
  load: createRequire(join(packageRoot(), "package.json")),
}));
