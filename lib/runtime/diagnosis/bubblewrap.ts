/** What to do when bwrap can't build its sandbox, from its own words and the host's settings. Pure. */

import type { RuntimeConfig } from "../config/config.js";
import { letInProfile, profileFor } from "./app-armor.js";
import type { HostFacts, Sysctl } from "./facts.js";

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

/** The fix for what bwrap (or the addon) said; undefined when nothing fits. */
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
