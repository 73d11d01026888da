/** Live processes in a session: beside its other commands, and no longer than it. */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { kLiveRunners, Screen, whole } from "../support/live-processes.js";
import { BubblewrapNativeRunner, LandlockNativeRunner } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const pty = { cols: 91, rows: 23 };

for (const [name, reason, makeRunner] of kLiveRunners) {
  const open = async () => {
    const runner = makeRunner(tempDirectory());
    const hasSessions =
      runner instanceof BubblewrapNativeRunner || runner instanceof LandlockNativeRunner;
    if (!hasSessions) throw new Error(`${name} has no sessions`);
    return runner.openSession();
  };
  if (name !== "bubblewrap" && name !== "landlock") continue;

  describeUnless(reason, `a session's start, ${name}`, () => {
    test("runs beside other commands, is spoken with, and is signalled", async () => {
      await using session = await open();
      const script =
        "trap 'echo bye; exit 3' TERM; echo up > /tmp/up; read -r x; echo $x; read -r x; echo $x; " +
        "while :; do sleep 0.02; done";
      const server = await session.start({ argv: ["sh", "-c", script] });
      const out = new Screen(server.stdout);
      server.stdin.write("one\n");
      await out.until("one\n");
      expect((await run(session, "cat /tmp/up; exit 4")).exitCode).toBe(4);
      server.stdin.write("two\n");
      await out.until("two\n");
      server.signal("SIGTERM");
      expect(await server.result).toMatchObject({ exitCode: 3, outcome: { kind: "exited" } });
      expect(out.text).toBe("one\ntwo\nbye\n");
      expect((await run(session, "exit 5")).exitCode).toBe(5);
    });

    test("has a terminal", async () => {
      await using session = await open();
      const process = await session.start({
        argv: ["sh", "-c", "stty size; read -r line; stty size; exit 2"],
        pty,
      });
      const screen = new Screen(process.stdout);
      await screen.until("23 91\r\n");
      process.resize({ cols: 120, rows: 50 });
      process.stdin.write("go\n");
      await screen.until("50 120\r\n");
      expect((await process.result).exitCode).toBe(2);
    });

    test("closed input is EPIPE", async () => {
      await using session = await open();
      const process = await session.start({ argv: ["sh", "-c", "exec <&-; sleep 1000"] });
      let heard: unknown;
      process.stdin.on("error", (error) => {
        heard = error;
      });
      for (let tries = 0; tries < 1000 && heard === undefined; tries += 1) {
        process.stdin.write("x");
        await delay(10);
      }
      expect(heard).toMatchObject({ code: "EPIPE" });
    });

    test("stop ends its processes, and leaves the session alive", async () => {
      await using session = await open();
      const mark = newMark();
      const script = "(setsid sleep 1000 &) & sleep 1000 & echo up; wait";
      const process = await session.start({
        argv: ["sh", "-c", script],
        env: { [kMarker]: mark },
        pty,
      });
      await new Screen(process.stdout).until("up");
      expect(marked(mark).length).toBeGreaterThan(0);
      expect((await process.stop()).outcome.kind).toBe("aborted");
      expect(marked(mark)).toEqual([]);
      expect(session.isOpen).toBe(true);
      expect((await run(session, "exit 6")).exitCode).toBe(6);
    });

    test("its terminal can be reached by another command as `shares` and the policy say", async () => {
      await using session = await open();
      const script = "tty; read -r line";
      const process = await session.start({ argv: ["sh", "-c", script], pty });
      const screen = new Screen(process.stdout);
      const path = (await screen.until("\r\n")).trim();
      const { exitCode } = await run(session, `echo from outside > ${path}`);
      expect(session.shares).toContain("terminals");
      if (name === "bubblewrap") await screen.until("from outside\r\n");
      else expect(exitCode).not.toBe(0);
    });

    test("the session's end is its end, read or not", async () => {
      const session = await open();
      const mark = newMark();
      const env = { [kMarker]: mark };
      const idle = await session.start({ argv: ["sleep", "1000"], env });
      const flood = await session.start({ argv: ["yes"], env, pty });
      await session.close();
      expect(marked(mark)).toEqual([]);
      expect((await idle.result).outcome.kind).toBe("aborted");
      const { outcome, stdoutBytes } = await flood.result;
      expect(outcome.kind).toBe("aborted");
      expect((await whole(flood.stdout)).length).toBe(stdoutBytes);
      await expect(session.start({ argv: ["true"] })).rejects.toMatchObject({
        code: "ERR_SANDBOX_CLOSED",
      });
    });
  });
}
