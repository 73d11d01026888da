import { launcherFix } from "./app-armor.js";
import type { HostFacts } from "./facts.js";

/** 5.13 is where Landlock came; undefined when the release can't be read. */
function isOlder(kernel: string): boolean | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(kernel) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return Number(major) < 5 || (Number(major) === 5 && Number(minor) < 13);
}

/** What to do when the kernel has no Landlock for us, or the launcher can't be started. Pure. */
export function landlockFix(reason: string, facts: HostFacts): string | undefined {
  const launcher = launcherFix(reason, facts);
  if (launcher !== undefined) return launcher;
  if (!/needs Linux|landlock_\w+\(|landlock_(?:create|add|restrict)/.test(reason)) return undefined;
  if (isOlder(facts.kernel)) return "use a kernel of Linux 5.13 or newer; 6.12 has every layer";
  if (facts.securityModules?.includes("landlock") === false) {
    const modules = ["landlock", ...facts.securityModules].join(",");
    return `start the kernel with \`lsm=${modules}\` (it needs CONFIG_SECURITY_LANDLOCK=y)`;
  }
  if (facts.container !== undefined) {
    return "let the container's seccomp profile pass the three landlock_* system calls";
  }
  return undefined;
}
