/** Suggests fixes if bwrap can't build its sandbox, from its message and the host's settings. Pure. */

import type { RuntimeConfig } from "./config.js";
import type { HostFacts, Sysctl } from "./host-facts.js";

const kRefused = /not permitted|permission denied|no permissions|RTM_NEW|uid map|\/ slave/i;

function setSysctl(name: Sysctl, value: string): string {
  return `run \`sysctl -w ${name}=${value}\`, and keep it in /etc/sysctl.d/90-userns.conf`;
}

const kUnmaskProc: Readonly<Record<string, string>> = {
  docker: "start the container with `--security-opt systempaths=unconfined`",
  podman: "start the container with `--security-opt unmask=ALL`",
  kubernetes:
    "set `procMount: Unmasked` in the container's securityContext, with `hostUsers: false`",
  kubepods: "set `procMount: Unmasked` in the container's securityContext, with `hostUsers: false`",
  lxc: "set `security.nesting=true` on the container",
};

const kAllowNamespaces: Readonly<Record<string, string>> = {
  podman: "start the container with `--security-opt seccomp=unconfined --security-opt unmask=ALL`",
  kubernetes: "set `seccompProfile: {type: Unconfined}` in the container's securityContext",
  kubepods: "set `seccompProfile: {type: Unconfined}` in the container's securityContext",
  lxc: "set `security.nesting=true` on the container",
};

function programOf(config: RuntimeConfig): string {
  const { bwrapPath } = config.bubblewrap;
  return bwrapPath.startsWith("/") ? bwrapPath : `/usr/bin/${bwrapPath}`;
}

/** Returns the fix for a message of bwrap or the addon; undefined if none applies. */
export function bubblewrapFix(
  reason: string,
  facts: HostFacts,
  config: RuntimeConfig,
): string | undefined {
  const { sysctls, container, appArmorProfile } = facts;
  if (/\bpidfd_open\b/.test(reason)) {
    return (
      "use a kernel with pidfd_open(2), Linux 5.3 or newer; gVisor may lack it: run the host " +
      "application outside of gVisor"
    );
  }
  if (/mount proc/i.test(reason)) {
    const flag = kUnmaskProc[container ?? "docker"] ?? kUnmaskProc.docker;
    const without = "or do without one: `procBind: false` (bubblewrap)";
    return `the container hides parts of /proc, so none can be mounted in it: ${flag}, ${without}`;
  }
  if (
    sysctls["user.max_user_namespaces"] === "0" ||
    /max_\*?_?\w*namespaces exceeded|ENOSPC|No space left/.test(reason)
  ) {
    return setSysctl("user.max_user_namespaces", "15000");
  }
  if (/unknown option/i.test(reason)) {
    const option = /--[a-z0-9-]+/.exec(reason)?.[0] ?? "the option";
    return `install a bwrap whose --help lists ${option}; isolation \`compat\` does without, and isolates less`;
  }
  if (/kernel does not support user namespaces/.test(reason)) {
    return "use a kernel with CONFIG_USER_NS=y, or install bwrap setuid root";
  }
  if (/pivot_root/.test(reason)) {
    return "the root file system is a ramdisk, which can't be pivoted: move it to a tmpfs or a disk";
  }
  if (!kRefused.test(reason)) return undefined;
  if (facts.uid !== 0 && sysctls["kernel.unprivileged_userns_clone"] === "0") {
    return setSysctl("kernel.unprivileged_userns_clone", "1");
  }
  if (facts.uid !== 0 && sysctls["kernel.apparmor_restrict_unprivileged_userns"] === "1") {
    return profileFor(programOf(config));
  }
  if (appArmorProfile !== undefined && container === undefined) {
    return letInProfile(appArmorProfile, facts, programOf(config));
  }
  if (container === undefined) return undefined;
  return (
    kAllowNamespaces[container] ??
    "start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
      "--security-opt systempaths=unconfined`"
  );
}

/** Suggests fixes if AppArmor forbids a sandbox. Pure. */

/** Returns a profile that lets this one program create user namespaces, like Ubuntu's own profiles. */
function profileFor(program: string): string {
  return [
    `allow user namespaces to ${program}: write this to /etc/apparmor.d/bwrap`,
    "",
    "  abi <abi/4.0>,",
    "  include <tunables/global>",
    `  profile bwrap ${program} flags=(unconfined) {`,
    "    userns,",
    "    include if exists <local/bwrap>",
    "  }",
    "",
    "and load it with `apparmor_parser -r /etc/apparmor.d/bwrap`; or, for all programs,",
    "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
  ].join("\n");
}

/** The launcher is a memfd: without that flag AppArmor can't resolve its path, and refuses it. */
const kNeedsDisconnected =
  "give it `flags=(attach_disconnected)`, since the launcher is a file without a path";

/** As root, bwrap runs from a sealed copy, to whose path no profile of its own is attached. */
function letInProfile(profile: string, { uid }: HostFacts, program: string): string {
  const apart =
    uid === 0 ? "" : `, or give bwrap a profile that does and start it in that: \`${program} px,\``;
  return (
    `AppArmor's profile ${profile} confines this process, and may be what refuses: allow \`userns,\`, ` +
    `\`mount,\`, \`umount,\`, \`pivot_root,\` and \`capability,\` in it${apart}; and ${kNeedsDisconnected}`
  );
}

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
