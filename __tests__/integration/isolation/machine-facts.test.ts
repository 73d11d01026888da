// As root too: only root may read them.
/**
 * Files of /proc that only root may read, which are not masked (docs/security): a user's command reads none, and what a
 * command of root reads has no address of the kernel.
 */

import { readFileSync } from "node:fs";
import { expect } from "vitest";

import { buildProbe } from "../support/probe.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kWayNames, withWay } from "../support/ways.js";

/** In the kernel's half, as it prints them. */
const kAddress = /\bffff[0-9a-f]{12}\b/;
const kScript = `
  for file in /proc/*; do
    [ -f $file ] || continue
    case $(stat -c %A $file) in -r--------|-rw-------) ;; *) continue ;; esac
    (head -c 1 $file > /tmp/byte) 2> /tmp/error || continue
    echo "readable $file"
    timeout 5 head -c 65536 $file | tr -c '[:print:]\\n' '?'
    echo
  done
  head -n 50 /proc/kallsyms
  for call in add_key keyctl request_key; do echo "$call $(./probe call $call)"; done`;

describeSandboxed("files of /proc that only root may read", () => {
  const shadowDir = tempDirectory("work", "/var/tmp");
  buildProbe(shadowDir);

  for (const name of kWayNames.filter((each) => each !== "no /proc")) {
    const why = isRoot && name === "isolation compat" ? "is no boundary as root" : undefined;
    testUnless(why, `give nothing away in ${name}`, async () => {
      const { out } = await withWay(name, { shadowDir }, (way) => way.exec(kScript));
      const lines = out.split("\n");
      const readable = lines.filter((line) => line.startsWith("readable "));
      if (isRoot) expect(readable, "as docs/security says").toContain("readable /proc/slabinfo");
      else expect(readable).toEqual([]);
      expect(lines.filter((line) => kAddress.test(line))).toEqual([]);
      expect(out, "addresses that are hidden").toMatch(/^0{16} /m);
      const refused = ["add_key", "keyctl", "request_key"].map((call) => `${call} EPERM`);
      expect(lines).toEqual(expect.arrayContaining(name === "isolation compat" ? [] : refused));
    });
  }

  testUnless(
    isRoot ? undefined : "they are hidden from a user",
    "are beside addresses that the host's root sees",
    () => {
      expect(readFileSync("/proc/kallsyms", "utf8").slice(0, 10_000)).toMatch(kAddress);
    },
  );
});
