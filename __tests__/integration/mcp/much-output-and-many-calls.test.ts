/** Much output, and many calls at once. */

import { expect, test } from "vitest";

import { whyNoCli } from "../support/built-cli.js";
import { readProc } from "../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { connect, linksOf } from "./support/client.js";

const kHundredMegabytes = 100_000_000;
const kKept = 1024 ** 2;

const residentMb = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readProc(pid, "status"))?.[1]) / 1024;

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner mcp under load", () => {
  test.each(["legacy", "modern"] as const)(
    "%s: 100 MB of output are counted, and the first and last of them can be fetched",
    async (generation) => {
      const { call, client, pid } = await connect(generation);
      await call("run", { command: "true" });
      const before = residentMb(pid);
      const result = await call("run", {
        command: `echo first; head -c ${kHundredMegabytes} /dev/zero | tr '\\0' x; echo; echo last`,
      });
      const said = result.structuredContent as { stdout: string };
      expect(result.structuredContent).toMatchObject({
        stdoutBytes: kHundredMegabytes + "first\n\nlast\n".length,
        truncated: true,
        exitCode: 0,
      });
      expect(said.stdout.length).toBeLessThan(20_000);
      expect(said.stdout).toMatch(/^first\nx+\n\[… \d+ bytes left out/);
      expect(said.stdout).toMatch(/x\nlast\n\n\[\d+ bytes of stdout were not kept/);
      const [uri = ""] = linksOf(result);
      const { contents } = await client.readResource({ uri });
      const [content] = contents;
      expect(content && "text" in content ? content.text.length : 0).toBe(kKept);
      expect(residentMb(pid) - before).toBeLessThan(100);
    },
  );

  test("output that is no text is told with U+FFFD, and parts end between characters", async () => {
    const { call, client } = await connect("legacy", { words: ["--max-output", "4M"] });
    const result = await call("run", {
      command: "printf '\\xff\\x00ok'; head -c 700000 /dev/zero | sed 's/\\x00/€/g'",
    });
    const links = linksOf(result);
    expect(links).toHaveLength(3);
    let text = "";
    for (const uri of links) {
      const { contents } = await client.readResource({ uri });
      for (const content of contents) text += "text" in content ? content.text : "";
    }
    expect(text).toBe(`\ufffd\u0000ok${"€".repeat(700_000)}`);
  });

  test.each(["legacy", "modern"] as const)(
    "%s: 50 calls at once each get their own answer",
    async (generation) => {
      const { call } = await connect(generation);
      const all = Array.from({ length: 50 }, (_, index) =>
        call("run", { command: `echo ${index}; echo ${index} > file-${index}` }),
      );
      const results = await Promise.all(all);
      for (const [index, { structuredContent }] of results.entries()) {
        expect(structuredContent).toMatchObject({ stdout: `${index}\n`, exitCode: 0 });
      }
      expect((await call("changes")).structuredContent).toMatchObject({ total: 50 });
    },
  );
});
