/** `native-runner run --publish`: the command's port at the host's, with its URL on standard error. */

import { spawn } from "node:child_process";
import { createServer, type Server } from "node:net";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { serverWords } from "../forward/forwarding.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless, plainEnvironment, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const run = (...words: string[]) => command([...kCli, "run", "-w", tempDirectory(), ...words]);

/** Starts a server, and returns what it writes to standard error, and how it ends. */
function served(...options: string[]) {
  const [program = "", ...words] = [...kCli, "run", "-w", tempDirectory(), ...options, "--"];
  const child = spawn(program, [...words, ...serverWords("http")], { env: plainEnvironment() });
  const said = { text: "" };
  child.stderr.on("data", (chunk) => {
    said.text += String(chunk);
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, said, ended };
}

function listening(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
  });
}

describeUnless(whyNoCli ?? whyNoBubblewrap, "run --publish", () => {
  test("tells the URL of each port once something listens, gone with the command", async () => {
    const free = await listening();
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    const { child, said, ended } = served("--publish", "8000", "--publish", `${port}:8000`);
    await eventually("both are told", () => said.text.match(/leads to port 8000/g)?.length === 2);
    const urls = said.text.match(/http:\S+/g) ?? [];
    expect(urls).toContain(`http://127.0.0.1:${port}`);
    for (const url of urls) expect(await (await fetch(`${url}/hello`)).text()).toBe("hello");
    child.kill("SIGINT");
    await ended;
    for (const url of urls) await expect(fetch(url)).rejects.toThrow();
  });

  test("ends the command when the host's port is taken, and tells by what", async () => {
    const holder = await listening();
    const { port } = holder.address() as { port: number };
    const { stderr, status } = run("--publish", `${port}:8000`, "--", "sleep", "60");
    expect(status).toBe(125);
    expect(stderr).toMatch(
      new RegExp(`^native-runner: port ${port} of the host is taken by process`),
    );
    holder.close();
  });

  test("refuses what is no port, and --json", () => {
    for (const wrong of ["0", "65536", "a", "1:2:3", "70000:1", ":1", "127.0.0.1:1:2"]) {
      const { stderr, status } = run("--publish", wrong, "--", "true");
      expect([status, stderr]).toEqual([2, expect.stringContaining("PORT or HOSTPORT:PORT")]);
    }
    expect(run("--publish", "8000", "--json", "--", "true").status).toBe(2);
    expect(run("--publish", "8000", "--", "sh", "-c", "exit 3").status).toBe(3);
  });
});
