/** Commands that are spoken with: sessions, processes, terminals. */

import { expectEqual, expectTrue, shown, textOf } from "./expectations.mjs";

export async function checkLive({ report, kind, runner }) {
  const limits = { timeoutMs: 20_000 * report.slow };
  const check = (name, body) => report.check(`${kind}: ${name}`, body);

  await check("a session keeps its shell's state", async () => {
    const session = await runner.openSession({ shell: true });
    try {
      await session.exec({ argv: ["bash", "-c", "mkdir -p d; cd d; export A=5"], limits });
      const run = await session.exec({
        argv: ["bash", "-c", 'echo $A $(basename "$PWD")'],
        limits,
      });
      expectEqual(textOf(run.stdout), "5 d", shown(run));
    } finally {
      await session.close();
    }
  });
  await check("a live process", async () => {
    const live = await runner.spawn({ argv: ["cat"] });
    live.stdin.end("said");
    let out = "";
    for await (const chunk of live.stdout) out += textOf(chunk);
    const run = await live.result;
    expectEqual(out, "said", JSON.stringify(run.outcome));
    expectEqual(run.exitCode, 0, JSON.stringify(run.outcome));
  });
  await check("a terminal", async () => {
    const argv = ["sh", "-c", "test -t 0 && stty size && read a && echo got-$a"];
    const live = await runner.spawn({ argv, pty: { cols: 91, rows: 33 } });
    let out = "";
    live.stdout.on("data", (chunk) => {
      out += textOf(chunk);
    });
    live.stdin.write("word\n");
    await live.result;
    expectTrue(out.includes("33 91") && out.includes("got-word"), JSON.stringify(out));
  });
}
