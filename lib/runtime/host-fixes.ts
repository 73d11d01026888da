/**
 * Suggests fixes if Landlock or Firejail does not work, from the message and the host's settings; for
 * Bubblewrap, outcomes and errors of the addon have them. Pure.
 */

import type { HostFacts } from "./host-facts.js";

/** The launcher is a memfd: without that flag AppArmor can't resolve its path, and refuses it. */
const kNeedsDisconnected =
  "give it `flags=(attach_disconnected)`, since the launcher is a file without a path";

/** Returns the fix if the launcher itself may not be started; undefined if the reason is another. */
function launcherFix(reason: string, { appArmorProfile }: HostFacts): string | undefined {
  if (appArmorProfile === undefined || !/launcher: permission denied/i.test(reason))
    return undefined;
  return `AppArmor's profile ${appArmorProfile} confines this process: ${kNeedsDisconnected}`;
}

/** Suggests fixes if Firejail does not confine. Pure. */
export function firejailFix(reason: string, facts: HostFacts): string | undefined {
  if (/nested|unconfined|existing sandbox|-namespace: the command would run/i.test(reason)) {
    return "Firejail does nothing inside a container or another sandbox: use bubblewrap or landlock";
  }
  if (/not allowed to use Firejail/.test(reason)) {
    return "name this user in /etc/firejail/firejail.users, a line a user: firejail-users(5)";
  }
  if (/does not confine/.test(reason)) {
    return "name a profile that confines the file system (firejail.profile), or use another runtime";
  }
  if (/the workspace is not there/.test(reason)) {
    return "Firejail shows an ordinary user no other's home: use a workspace in the user's own, or in /tmp";
  }
  if (facts.container !== undefined && /not permitted|permission|namespace|mount/i.test(reason)) {
    return `Firejail does not work in this container (${facts.container}): use another runtime`;
  }
  return undefined;
}

/**
 * True if the kernel is older than 5.13, which introduced Landlock; undefined if the release can't be parsed.
 */
function isOlder(kernel: string): boolean | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(kernel) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return Number(major) < 5 || (Number(major) === 5 && Number(minor) < 13);
}

/** Suggests fixes if the kernel has no usable Landlock, or the launcher can't be started. Pure. */
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
