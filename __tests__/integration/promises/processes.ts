/** Promise 2, too: a command neither sees nor touches the host's processes. */

import { readlinkSync } from "node:fs";
import { expect } from "vitest";

import type { Services } from "./host-services.js";
import type { PromiseName } from "./matrix.js";
import { kProbe, kSecret } from "./probed-host.js";
import { type Promised, says } from "./promise.js";

const kNamespaces: Partial<Record<PromiseName, string>> = {
  "pid-namespace": "pid",
  "ipc-namespace": "ipc",
  "mount-namespace": "mnt",
  "uts-namespace": "uts",
  "cgroup-namespace": "cgroup",
};

function sharesNamespace([promise, name]: [string, string]): Promised {
  const path = `/proc/self/ns/${name}`;
  return {
    promise: promise as PromiseName,
    name: `shares the host's ${name} namespace`,
    command: () => ["readlink", path],
    kept: (seen) => {
      expect(seen.out).toMatch(/^[a-z]+:\[\d+\]$/);
      expect(seen.out).not.toBe(readlinkSync(path));
    },
    control: "local",
    reached: (seen) => expect(seen.out).toBe(readlinkSync(path)),
  };
}

export function processRows(services: () => Services): Promised[] {
  return [
    {
      promise: "read-processes",
      name: "lists the host's processes",
      command: () => `ls /proc | grep -x ${services().process}`,
      kept: (seen) => expect(seen.out).toBe(""),
      control: "local",
      reached: (seen) => expect(seen.out).toBe(String(services().process)),
    },
    {
      promise: "read-processes",
      name: "reads the environment of a host process",
      command: () => ["cat", `/proc/${services().process}/environ`],
      kept: (seen) => {
        expect(seen.out).not.toContain(kSecret);
        expect(seen.exitCode).not.toBe(0);
      },
      control: "local",
      reached: (seen) => expect(seen.out).toContain(kSecret),
    },
    {
      promise: "read-processes",
      name: "looks into process 1",
      command: (_, isControl) =>
        `readlink /proc/${isControl ? "self" : "1"}/fd/0 /proc/${isControl ? "self" : "1"}/exe`,
      kept: (seen) => expect(seen.out).toBe(""),
      control: "local",
      reached: (seen) => expect(seen.out).toContain("readlink"),
      hostMayRefuse: true,
    },
    {
      promise: "see-outside",
      name: "sees that a host process is there",
      command: () => ["ls", "-d", `/proc/${services().process}`],
      kept: (seen) => expect(seen).toMatchObject({ out: "", exitCode: 2 }),
      control: "local",
      reached: (seen) => expect(seen.exitCode).toBe(0),
    },
    {
      promise: "signal-processes",
      name: "signals a host process",
      command: () => [kProbe, "signal", String(services().process)],
      kept: says("ESRCH", "EPERM"),
      control: "local",
      reached: says("OK"),
    },
    ...Object.entries(kNamespaces).map(sharesNamespace),
  ];
}
