// As root too: a session's commands are kept apart otherwise.
/** What one command of a session can do to another, to its launcher, and to the session's own. */

import { mkdtempSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { LocalNativeRunner, type NativeSession } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { run } from "../support/results.js";
import { describeSessions } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const kSecret = "secret-of-one-command";

describeSessions("a command of a session", (maker) => {
  const workspace = tempDirectory("work", "/var/tmp");
  const controller = new AbortController();
  let session: NativeSession;
  /** The other command, its launcher, and the session's launcher, as the commands number them. */
  const others: Record<string, string> = {};

  beforeAll(async () => {
    buildProbe(workspace);
    session = await maker.open({}, workspace);
    const directory = mkdtempSync(join(workspace, "other-"));
    const script = "echo $$ $PPID > pids; exec ../probe linger up";
    void run(session, script, {
      cwd: basename(directory),
      env: { SECRET: kSecret },
      signal: controller.signal,
    });
    await eventually("the other is up", () => {
      try {
        return readFileSync(join(directory, "up")) !== undefined;
      } catch {
        return false;
      }
    });
    const [command = "", launcher = ""] = readFileSync(join(directory, "pids"), "utf8")
      .trim()
      .split(" ");
    Object.assign(others, { "another command": command, "its launcher": launcher, "pid 1": "1" });
    return async () => {
      controller.abort();
      await session.close();
    };
  });

  const meddle = (how: string, pid: string) => run(session, ["./probe", "meddle", how, pid]);

  test.each(["signal", "trace", "memory", "descriptor"])(
    "can't use %s but on its own children",
    async (how) => {
      const separated = session.layers.includes("command-separation");
      expect(await meddle(how, "child")).toMatchObject({ out: "OK", exitCode: 0 });
      for (const [whom, pid] of Object.entries(others)) {
        const { out } = await meddle(how, pid);
        if (separated) expect(["EPERM", "EACCES", "ESRCH"], `${how}: ${whom}`).toContain(out);
        else if (whom === "another command") expect(out, "shares say so").toBe("OK");
      }
    },
  );

  test.each(["limits", "policy", "priority", "io-priority"])(
    "can't set the %s of any process but its own",
    async (how) => {
      const local = new LocalNativeRunner({ shadowDir: workspace });
      expect(await run(local, ["./probe", "meddle", how, "child"])).toMatchObject({ out: "OK" });
      expect(await meddle(how, "0"), "itself").toMatchObject({ out: "OK", exitCode: 0 });
      for (const [whom, pid] of Object.entries(others)) {
        expect((await meddle(how, pid)).out, `${how}: ${whom}`).toBe("EPERM");
      }
      expect(await run(session, "echo still; exit 3")).toMatchObject({ out: "still", exitCode: 3 });
    },
  );

  const kOwnPriority = ["nice -n 3", "ionice -c 2 -n 5", "chrt -b 0", "taskset -c 0", "setsid -w"];
  test.each(kOwnPriority)("may be started by %s", async (tool) => {
    const { out, err } = await run(session, `${tool} sh -c 'ulimit -n 64; ulimit -n'`);
    expect({ out, err }).toEqual({ out: "64", err: "" });
  });

  test("sees nothing of another's in /proc but its command line", async () => {
    const look = (pid: string) => `
      tr '\\0' '\\n' < /proc/${pid}/environ | grep SECRET; readlink /proc/${pid}/fd/1
      for file in cwd exe root fd/0; do readlink /proc/${pid}/$file; done
      : < /proc/${pid}/fd/0 && echo opened; : < /proc/${pid}/mem && echo opened`;
    const own = await run(session, `sleep 1000 & sleep 0.1; ${look("$!")}`, {
      env: { SECRET: kSecret },
    });
    expect(own.out).toContain(kSecret);
    expect(own.out).toContain("/usr/bin/sleep");
    expect(own.out).toContain("pipe:");
    expect(own.out.match(/opened/g)).toHaveLength(2);
    for (const pid of Object.values(others)) {
      const seen = await run(session, look(pid));
      if (session.layers.includes("command-separation")) {
        expect(seen.out).toBe("");
      }
    }
    const line = await run(session, ["cat", `/proc/${others["another command"]}/cmdline`]);
    expect(line.out).toContain("linger");
    expect(line.out).not.toContain(kSecret);
  });

  // Opens each file that its mode says is writable, and writes nothing to it.
  const writable = (pid: string) => `
    for file in $(find /proc/${pid} /proc/${pid}/task/${pid} -maxdepth 1 -type f -perm /222 2> /dev/null)
    do (: >> $file) 2> /dev/null && echo $file; done; true`;

  test("writes to no file of another's in /proc", async () => {
    const local = new LocalNativeRunner({ shadowDir: workspace });
    const free = await run(local, `sleep 1000 & ${writable("$!")}`);
    expect(free.out, "control").toContain("/coredump_filter");
    if (!session.layers.includes("command-separation")) return;
    for (const pid of Object.values(others)) {
      const seen = await run(session, `${writable(pid)}; ls /proc/${pid}/oom_score_adj`);
      expect(seen.out).toBe(`/proc/${pid}/oom_score_adj`);
    }
    const kept = await run(
      session,
      "echo a > own; mkdir -p d; mv own d; echo text > /dev/null; cat d/own",
    );
    expect(kept.out, "what is its own").toBe("a");
  });

  test("ends none but its own with a signal to all", async () => {
    if (!session.layers.includes("command-separation")) return;
    const all = await run(session, "sleep 1000 & kill -9 -1; echo survived; wait");
    expect(all.out).toMatch(/^(survived)?$/); // the shell itself may be one of all
    expect(session.isOpen).toBe(true);
    expect(await run(session, ["ls", `/proc/${others["another command"]}/comm`])).toMatchObject({
      exitCode: 0,
    });
  });

  test("has only its own three descriptors", async () => {
    const seen = await run(session, "ls -l /proc/self/fd");
    const numbers = [...seen.out.matchAll(/ (\d+) -> /g)].map(([, number]) => number);
    expect(numbers).toEqual(["0", "1", "2", "3"]); // 3 is that of ls
  });

  test("shows its own variables in no command line", async () => {
    const shell = await maker.open({ shell: true }, workspace);
    const argv = ["sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline; echo $SECRET"];
    const seen = await run(shell, argv, { env: { SECRET: kSecret } });
    expect(seen.out).toContain(kSecret);
    expect(seen.out.split(kSecret)).toHaveLength(2); // only what echo says
    await shell.close();
  });
});
