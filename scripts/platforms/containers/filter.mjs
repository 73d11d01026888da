// The seccomp filter that Docker and containerd give a container without CAP_SYS_ADMIN, as far as it
// decides about sandboxes: no namespaces, no mounts. Podman's own allows user namespaces. Pure.

const kEperm = 1;
const kEnosys = 38;

/** Calls that make or change namespaces and mounts, and what else the default profile keeps back. */
const kRefused = [
  ["unshare", "setns", "mount", "umount", "umount2", "pivot_root", "open_tree", "move_mount"],
  ["fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"],
  ["bpf", "keyctl", "add_key", "request_key", "perf_event_open"],
].flat();

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET, each by itself. */
const kNamespaceFlags = [
  0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
];

const refuseWith = (names, errnoRet, args = []) => ({
  names,
  action: "SCMP_ACT_ERRNO",
  errnoRet,
  args,
});

/** A profile in the format of the OCI runtime specification's tools. */
export function dockerLikeFilter() {
  const masked = (flag) => ({ index: 0, value: flag, valueTwo: flag, op: "SCMP_CMP_MASKED_EQ" });
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [
      refuseWith(kRefused, kEperm),
      ...kNamespaceFlags.map((flag) => refuseWith(["clone"], kEperm, [masked(flag)])),
      // Its flags are in memory, where no filter can look: C libraries then use clone.
      refuseWith(["clone3"], kEnosys),
    ],
  };
}
