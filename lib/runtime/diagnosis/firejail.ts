import type { HostFacts } from "./facts.js";

/** What to do when Firejail does not confine. Pure. */
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
