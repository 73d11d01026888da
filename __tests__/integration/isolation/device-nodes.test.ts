// As root too: only root inside is the owner of the host's device nodes.
/** The host's device nodes, and the lock of its accounts: no command changes or holds them. */

import { existsSync } from "node:fs";
import { expect, test } from "vitest";

import { ClonedRunner } from "../clones/cloning-runners.js";
import { kPlace, kWays } from "../support/mounts.js";
import { Bwrap } from "../support/package.js";
import {
  describeSandboxed,
  describeUnless,
  isRoot,
  testUnless,
  whyNoBindFd,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

// The mode and times that the nodes have already: where it is not refused, nothing changes.
const kNodes = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);
const kScript = `
  [ -c /proc/self/fd/0 ] && input=/proc/self/fd/0 # a live process has a pipe
  for node in ${kNodes.join(" ")} $input; do
    chmod 0666 $node 2> /dev/null && echo "chmod $node"
    touch -c -r $node $node 2> /dev/null && echo "touch $node"
  done
  exec 3<> /dev/null; chmod 0666 /proc/self/fd/3 2> /dev/null && echo "chmod 3"
  : > /tmp/own && chmod 0600 /tmp/own && touch -c -d @1 /tmp/own && echo own
  echo text > /dev/null && head -c 2 /dev/zero | wc -c && head -c 2 /dev/urandom | wc -c
  (echo text > /dev/full) 2> /dev/null || echo full`;
const kExpected = ["own", "2", "2", "full", ""].join("\n");

describeSandboxed("device nodes", () => {
  test.each(kWays)("of the host can't be changed in %s", async (_, way) => {
    expect(await way([], kScript)).toBe(kExpected);
  });

  test("of the host can't be changed in compat", async () => {
    const cold = kWays.find(([name]) => name === "a cold run");
    expect(await cold?.[1]([], kScript, { isolation: "compat" })).toBe(kExpected);
  });

  testUnless(whyNoBindFd, "of the host can't be changed in a clone", async () => {
    const runner = new ClonedRunner({ shadowDir: tempDirectory("work", kPlace) });
    expect((await runner.exec({ argv: ["sh", "-c", kScript] })).stdoutText).toBe(kExpected);
  });

  test("of the host can't be changed by Bwrap", async () => {
    const text = await new Bwrap(tempDirectory("work", kPlace)).exec(kScript);
    expect(text.trimEnd()).toBe(kExpected.trimEnd());
  });
});

const whyNoLock = !isRoot
  ? "an ordinary user can't read it anyway"
  : existsSync("/etc/.pwd.lock")
    ? undefined
    : "this host has no /etc/.pwd.lock";

describeUnless(whyNoLock, "the lock of the host's accounts", () => {
  test.each(kWays)("can't be opened in %s", async (_, way) => {
    const script = `for f in /etc/.pwd.lock /etc/passwd; do (exec 3< $f) 2> /dev/null && echo $f; done; true`;
    expect(await way([], script)).toBe("/etc/passwd\n");
  });
});
