/** Promise 3: what exploits like and builds never need is refused by the filter. */

import { spawnSync } from "node:child_process";
import { expect } from "vitest";

import { kProbe } from "./probed-host.js";
import { type Promised, says, saysOtherThan } from "./promise.js";

/** Whether there is that way into this machine's kernel: a guest may have none. */
const hasInt80 = (workspace: string): boolean => {
  const { stdout } = spawnSync(kProbe, ["int80"], { cwd: workspace, encoding: "utf8" });
  return stdout.trim() !== "SIGSEGV";
};

// Names of calls with arguments that an unfiltered kernel answers otherwise than the filter, whoever
// asks; nothing is done anywhere.
const kHarmless: readonly (readonly string[])[] = [
  ["keyctl", "0", "-3", "0"], // the id of the session's keyring
  ["add_key", "user", "0", "0", "0", "0"],
  ["request_key", "0", "0", "0", "0"],
  ["bpf", "0", "0", "0x100000"],
  ["perf_event_open", "0", "0", "0", "0", "-1"],
  ["userfaultfd", "-1"],
  ["io_uring_setup", "0", "0"],
  ["io_setup", "0", "0"],
  ["io_uring_enter", "-1"],
  ["setns", "-1", "0"],
  ["open_tree", "-1", "0", "-1"],
  ["fcntl", "-1", "1024", "1"], // F_SETLEASE, F_WRLCK
];

// The kernel asks for a capability first: told apart in a namespace that has it.
const kCapable: readonly (readonly string[])[] = [
  ["mount_setattr", "-1", "0", "-1", "0", "0"],
  ["move_mount", "-1", "0", "-1", "0", "-1"],
  ["fsopen", "0", "0"],
  ["pivot_root", "0", "0"],
  ["clone", "0x10000000"],
];

// Only the first user namespace's root could, and no test should.
const kMachine = ["kexec_load", "init_module", "delete_module", "swapon"];

const kFamilies = { AF_ALG: "38", AF_VSOCK: "40", AF_BLUETOOTH: "31", AF_KEY: "15", AF_RDS: "21" };

function refusesCall(
  call: readonly string[],
  control: "local" | "loose",
  answer = "EPERM",
): Promised {
  return {
    promise: "no-privileges",
    name: `calls ${call[0]}`,
    command: () => [kProbe, "call", ...call],
    kept: says(answer),
    control,
    reached: saysOtherThan(answer),
  };
}

function opensSocket([name, family]: [string, string]): Promised {
  return {
    promise: "no-privileges",
    name: `opens a socket of ${name}`,
    policy: () => ({ network: "allow" }), // or there may be no socket(2) to tell families apart
    command: () => [kProbe, "socket", family],
    kept: says("EAFNOSUPPORT"),
    control: "local",
    // A kernel that was built without the family can't tell more; AF_UNIX and AF_INET are told below.
    reached: says("OK", "EAFNOSUPPORT", "EPERM"),
    hostMayRefuse: true,
  };
}

export function kernelRows(): Promised[] {
  return [
    ...kHarmless.map((call) => refusesCall(call, "local")),
    refusesCall(["clone3", "0", "0"], "local", "ENOSYS"),
    ...kCapable.map((call) => refusesCall(call, "loose")),
    ...kMachine.map(
      (call): Promised => ({
        promise: "no-privileges",
        name: `calls ${call}`,
        command: () => [kProbe, "call", call, "0", "0", "0", "-1"],
        kept: says("EPERM"),
        control: "inside",
        reached: says("EPERM"),
      }),
    ),
    {
      promise: "no-privileges",
      name: "types into its terminal (TIOCSTI)",
      command: () => [kProbe, "tiocsti"],
      kept: says("EPERM"),
      control: "local",
      reached: says("OK", "EIO"), // EIO: dev.tty.legacy_tiocsti is off
    },
    {
      promise: "no-privileges",
      name: "calls the kernel as a 32-bit program",
      command: () => [kProbe, "int80"],
      kept: (seen, { workspace }) => says(hasInt80(workspace) ? "ENOSYS" : "SIGSEGV")(seen),
      control: "local",
      reached: says("OK", "ENOSYS", "SIGSEGV"),
      hostMayRefuse: true,
    },
    ...Object.entries(kFamilies).map(opensSocket),
    {
      promise: "no-privileges",
      name: "finds all socket families refused",
      policy: () => ({ network: "allow" }),
      command: (_, isControl) => {
        const families = isControl ? [1, 2, 16] : [3, 4, 5, 9, 17, 29, 38, 40, 44];
        return families.map((family) => `${kProbe} socket ${family}`).join("; ");
      },
      kept: (seen) => expect(new Set(seen.out.split("\n"))).toEqual(new Set(["EAFNOSUPPORT"])),
      control: "inside",
      reached: (seen) => expect(seen.out).toBe("OK\nOK\nOK"),
    },
  ];
}
