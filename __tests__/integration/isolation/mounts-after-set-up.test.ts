// As root too: root has more to keep from a command.
/**
 * What the host mounts while a sandbox stands is not in it. In a mount namespace of our own, where a
 * directory is shared as systemd shares all of the host's; the control is a sandbox made afterwards.
 */

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kNodeInside } from "../support/node-arguments.js";
import {
  describeUnless,
  isRoot,
  plainEnvironment,
  whyNoBindFd,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kHost = fileURLToPath(new URL("../hosts/mounts/while-it-runs.mjs", import.meta.url));

/** Words that run the program after them in a mount namespace of its own, as its root. */
const kApart = isRoot ? ["unshare", "-m"] : ["unshare", "-U", "-r", "-m"];
/** … and words that run it without privileges in there. */
const kAsUser = ["unshare", "-U", "--map-user=1000", "--map-group=1000"];

/** Kinds of runs that need no sandbox made ahead. */
const kCold = ["run", "session", "project"];

const kScript = `
  directory=$1 workspace=$2; shift 2
  mount -t tmpfs early "$directory" && mount --make-shared "$directory" || exit 9
  mkdir -m 777 "$directory/inner"
  "$@" &
  read -r go
  mount -t tmpfs late "$directory/inner" && chmod 777 "$directory/inner" || exit 9
  touch "$directory/inner/seen" "$workspace/go"
  wait`;

function whyNot(): string | undefined {
  if (whyNoBubblewrap !== undefined) return whyNoBubblewrap;
  const [program = "", ...args] = [...kApart, ...kAsUser, "true"];
  const tried = spawnSync(program, args, { encoding: "utf8" });
  return tried.status === 0 ? undefined : `no namespaces: ${tried.error ?? tried.stderr}`;
}

type Seen = { during: string[]; after: string[] };

async function seenBy(kind: string, before: readonly string[]): Promise<Seen> {
  const workspace = tempDirectory("work", "/var/tmp");
  const directory = "/mnt"; // a filesystem of its own, there: Bwrap shows it, unlike /tmp
  mkdirSync(join(workspace, "home"));
  const [program = "", ...args] = [...kApart, "sh", "-c", kScript, "sh", directory, workspace];
  const host = spawn(
    program,
    [...args, ...before, ...kNodeInside, kHost, kind, workspace, directory],
    {
      env: { ...plainEnvironment(), HOME: join(workspace, "home") },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  let last = "";
  for await (const line of createInterface({ input: host.stdout })) {
    if (line === '"up"') host.stdin.end("go\n");
    last = line;
  }
  return JSON.parse(last) as Seen;
}

describeUnless(whyNot(), "a filesystem that the host mounts meanwhile", () => {
  const kHosts: [whose: string, before: readonly string[]][] = [
    [isRoot ? "root" : "root of a user namespace", []],
    ["an ordinary user", kAsUser],
  ];
  for (const [whose, before] of kHosts) {
    test.each(whyNoBindFd ? kCold : ["prewarmed", ...kCold])(
      `is not in a %s of ${whose}'s, and read-only in the next one`,
      async (kind) => {
        const seen = await seenBy(kind, before);
        expect(seen).toEqual({ during: [], after: ["seen"] });
      },
    );
  }
});
