// Why bwrap can't run here, as far as the kernel's settings tell, and what to do about it.
import { readFileSync } from "node:fs";

const setting = (name) => {
  try {
    return readFileSync(`/proc/sys/${name}`, "utf8").trim();
  } catch {
    return undefined; // this kernel has no such setting
  }
};

const causes = [
  {
    holds: () => setting("user/max_user_namespaces") === "0",
    text: "The kernel allows no user namespaces: sysctl user.max_user_namespaces=15000",
  },
  {
    holds: () => setting("kernel/unprivileged_userns_clone") === "0",
    text: "Only root may make user namespaces: sysctl kernel.unprivileged_userns_clone=1",
  },
  {
    holds: () => setting("kernel/apparmor_restrict_unprivileged_userns") === "1",
    text: `AppArmor keeps bwrap from making user namespaces (Ubuntu 24.04 and later). Give bwrap a
profile that allows "userns," (the package apparmor-profiles has bwrap-userns-restrict), or:
sysctl kernel.apparmor_restrict_unprivileged_userns=0`,
  },
  {
    holds: () => /docker|containerd|libpod|kubepods|lxc/.test(containerHints()),
    text: `This looks like a container. Its own seccomp filter and masked /proc forbid nested
namespaces: start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined
(and --security-opt apparmor=unconfined where AppArmor is in use).`,
  },
];

function containerHints() {
  return ["/proc/1/cgroup", "/proc/self/mountinfo"]
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
}

export function adviceFor(reason) {
  const found = causes.filter(({ holds }) => holds()).map(({ text }) => text);
  const advice =
    found.length > 0
      ? found
      : ["No known setting explains it; see what `bwrap --unshare-user --ro-bind / / true` says."];
  return [`bwrap can't run here: ${reason}`, ...advice].join("\n\n");
}
