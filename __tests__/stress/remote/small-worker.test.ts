/**
 * A worker with 256 MiB for itself, and a caller that sends more than it may in each way that there is: the kernel ends
 * nothing of it, and the runs of another tenant end as they should.
 */

import { spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { encodeFrame } from "../../../lib/remote/wire/frame.js";
import type { ToWorker } from "../../../lib/remote/wire/messages.js";
import { startNatsServer, whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { startWorker } from "../../integration/remote/support/worker.js";
import { HandCaller } from "../../integration/remote/wire/hand-caller.js";
import { kNodeProgram } from "../../integration/support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { eventually } from "../../support/waits.js";

const kMiB = 1024 ** 2;
const kMost = 256 * kMiB;
/** Several times what the worker has. */
const kFlood = 1024 * kMiB;
const kPiece = 128 * 1024;

/** Control groups of the first version, or the second where its memory controller is delegated to us. */
const kRoots = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", events: "memory.oom_control" },
  { root: "/sys/fs/cgroup", limit: "memory.max", events: "memory.events" },
];

type Group = { directory: string; limit: string; events: string };

function makeGroup(): Group | undefined {
  for (const { root, limit, events } of kRoots) {
    const directory = path.join(root, `native-runner-small-worker-${process.pid}`);
    try {
      accessSync(root, constants.W_OK);
      mkdirSync(directory);
      if (existsSync(path.join(directory, limit))) {
        writeFileSync(path.join(directory, limit), String(kMost));
        return { directory, limit, events };
      }
      rmdirSync(directory);
    } catch {}
  }
  return undefined;
}

const group = makeGroup();
const whyNoGroup = group === undefined ? "no memory control group can be made here" : undefined;
afterAll(() => {
  if (group !== undefined) rmdirSync(group.directory);
});

describeUnless(whyNoGroup ?? whyNoNatsServer ?? whyNoBubblewrap, "a worker with 256 MiB", () => {
  const { directory, events } = group ?? { directory: "", events: "" };
  const intoGroup = ["-c", 'echo $$ > "$0"; exec "$@"', path.join(directory, "cgroup.procs")];
  const killed = () =>
    Number(/^oom_kill (\d+)/m.exec(readFileSync(path.join(directory, events), "utf8"))?.[1]);

  test("is killed by nothing that a caller sends, and serves another tenant", async () => {
    const server = await startNatsServer();
    const workspaces = tempDirectory();
    const workspace = path.join(workspaces, "hostile");
    for (const each of [workspace, path.join(workspaces, "ada", "project")])
      mkdirSync(each, { recursive: true });
    const worker = await startWorker({
      ...{ server: server.url, workspaces, slots: 3, words: ["--stdin", "4M"] },
      policy: {
        limits: { maxStdoutBytes: 4 * kMiB, maxStderrBytes: kMiB },
        tenants: { default: { slots: 2 } },
      },
      before: ["sh", ...intoGroup],
    });
    const honest = new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests", tenant: "ada" },
      workspace: path.join(workspaces, "ada", "project"),
    });
    const served = async () =>
      expect((await honest.exec({ argv: ["echo", "served"] })).stdoutText).toBe("served\n");
    await served();

    const body = Buffer.alloc(kPiece, 7);
    const grantOf = (hand: HandCaller, lease: number, more: object) =>
      hand.grant(1, 1, { lease, workspace, ...more } as never);
    /** Each way, by a caller of its own: what it asks for, and what it then sends without end. */
    const ways: [string, object, ((hand: HandCaller, seq: number) => ToWorker) | undefined][] = [
      [
        "output that is never confirmed, with credit beyond all bounds",
        {
          ...{ kind: "spawn", isLive: true, credit: Number.MAX_SAFE_INTEGER },
          input: { argv: ["sh", "-c", `head -c ${kFlood} /dev/zero`] },
        },
        undefined,
      ],
      [
        "standard input of two gigabytes",
        { stdinBytes: 2 ** 31 - 1, input: { argv: ["cat"] } },
        (hand, seq) => ({ t: "input", caller: hand.id, run: 1, seq, ack: 0 }),
      ],
      [
        "standard input of a live process that reads none",
        { kind: "spawn", isLive: true, input: { argv: ["sleep", "60"] } },
        (hand, seq) => ({ t: "input", caller: hand.id, run: 1, seq, ack: 0 }),
      ],
      [
        "messages of a workspace beyond the window",
        { workspace: { id: "hostile" }, input: { argv: ["true"] } },
        (hand, seq) =>
          ({ t: "port", caller: hand.id, run: 1, seq, ack: 0, header: { t: "file" } }) as never,
      ],
      [
        "pieces of frames that are never whole",
        { input: { argv: ["true"] } },
        (hand, seq) =>
          ({ t: "piece", from: `${hand.id}${seq}`, piece: seq, at: 0, isLast: false }) as never,
      ],
    ];
    for (const [what, asked, flood] of ways) {
      const hand = await HandCaller.open(server.url);
      const { worker: id, lease } = await hand.invited(1);
      hand.say(id, grantOf(hand, lease, asked));
      if (flood === undefined) await eventually(what, () => hand.all("out").length > 0);
      for (let seq = 1; flood !== undefined && seq * kPiece <= kFlood; seq += 1) {
        hand.throw(id, Buffer.concat(encodeFrame(flood(hand, seq), body)));
        if (seq % 256 === 0) await served(); // in the middle of it, too
      }
      await served();
      await hand.close();
      expect(killed(), what).toBe(0);
    }
    await honest.close();
    expect(worker.log()).not.toContain("FATAL");
    expect(await worker.stop()).toBe(0);
    expect(killed()).toBe(0);
  });

  test("would be killed if it took more (the control)", () => {
    const greedy = `Buffer.alloc(${2 * kMost}, 1)`;
    const { signal } = spawnSync("sh", [...intoGroup, kNodeProgram, "-e", greedy]);
    expect(signal).toBe("SIGKILL");
    expect(killed()).toBeGreaterThan(0);
  });
});
