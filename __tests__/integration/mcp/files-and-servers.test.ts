/** The tools for files, a server that commands reach, and what a model is told. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { whyNoCli } from "../support/built-cli.js";
import { kNodeInSandbox } from "../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { connect, kGenerations, textOf } from "./support/client.js";

const kServer = `require("node:http").createServer((_, answer) => answer.end("hello")).listen(3000, () => console.log("up"))`;

describeUnless(whyNoCli ?? whyNoBubblewrap, "mcp", () => {
  test.each(kGenerations)("its list has at most 16 KB, %s", async (generation) => {
    const { client } = await connect(generation);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("search");
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThanOrEqual(16 * 1024);
  });

  test("view, edit and search work on the files that commands see", async () => {
    const { call, workspace } = await connect("modern");
    writeFileSync(join(workspace, "a.txt"), "one\ntwo\ntwo\n");
    expect(textOf(await call("view", { path: "a.txt", from: 2, lines: 1 }))).toMatch(
      /^two\n\[4 lines/,
    );
    const twice = await call("edit", { path: "a.txt", old: "two", new: "2" });
    expect(twice.isError).toBe(true);
    expect(textOf(twice)).toContain("old is in a.txt 2 times");
    expect((await call("edit", { path: "a.txt", old: "nine", new: "9" })).isError).toBe(true);
    await call("edit", { path: "/workspace/a.txt", old: "two\ntwo", new: "2 $& two" });
    expect(textOf(await call("run", { command: "cat a.txt" }))).toBe("one\n2 $& two\n");
    await call("edit", { path: "new.txt", old: "", new: "found me\n" });
    expect((await call("edit", { path: "new.txt", old: "", new: "x" })).isError).toBe(true);
    expect(textOf(await call("search", { pattern: "found +me" }))).toBe("new.txt:1:found me\n");
    expect(textOf(await call("search", { pattern: "nowhere" }))).toBe("nothing was found");
    expect((await call("search", { pattern: "(" })).isError).toBe(true);
    expect(textOf(await call("view", { path: "" })).split("\n")).toEqual(["a.txt", "new.txt"]);
    expect((await call("view", { path: "none" })).isError).toBe(true);
    expect((await call("view", { path: "../x" })).isError).toBe(true);
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\ntwo\ntwo\n");
  });

  test("a path has the forms of cwd, also of what is called workspace", async () => {
    const { call, workspace } = await connect("modern");
    mkdirSync(join(workspace, "workspace"));
    writeFileSync(join(workspace, "a.txt"), "above\n");
    writeFileSync(join(workspace, "workspace/a.txt"), "below\n");
    const shown = async (path: string) => textOf(await call("view", { path }));
    for (const path of ["a.txt", "/a.txt", "workspace/a.txt", "/workspace/a.txt"]) {
      expect(await shown(path), path).toBe("above\n");
    }
    for (const path of ["workspace/workspace/a.txt", "/workspace/workspace/a.txt"]) {
      expect(await shown(path), path).toBe("below\n");
    }
    await call("edit", { path: "/workspace/workspace/a.txt", old: "below", new: "edited" });
    expect(await shown("/workspace/workspace/a.txt")).toBe("edited\n");
    expect(await shown("/workspace/a.txt")).toBe("above\n");
    expect(await shown("/workspace/workspace")).toBe("workspace/workspace/a.txt");
    expect(textOf(await call("search", { pattern: "edited", path: "/workspace/workspace" }))).toBe(
      "workspace/a.txt:1:edited\n",
    );
  });

  test("run reaches a server that start began, and none that has ended", async () => {
    const { call } = await connect("modern");
    const started = await call("start", { argv: [...kNodeInSandbox, "-e", kServer] });
    const process = (started.structuredContent as { process: string }).process;
    expect(textOf(await call("read", { process, waitMs: 45_000 }))).toContain("up");
    const ask = {
      command: "exec 3<>/dev/tcp/127.0.0.1/3000; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3",
    };
    expect(textOf(await call("run", ask))).toContain("hello");
    await call("stop", { process });
    expect(textOf(await call("run", ask))).not.toContain("hello");
  });

  test("start tells a URL for the port that is named, and nothing is started without it", async () => {
    const { call } = await connect("modern");
    const started = await call("start", { argv: [...kNodeInSandbox, "-e", kServer], port: 3000 });
    const { process, url } = started.structuredContent as { process: string; url: string };
    expect(textOf(started)).toContain(`its port 3000 is at ${url} on this machine`);
    expect(textOf(await call("read", { process, waitMs: 45_000 }))).toContain("up");
    expect(await (await fetch(url)).text()).toBe("hello");
    await call("stop", { process });
    await expect(fetch(url)).rejects.toThrow();
    const wrong = await call("start", { command: "sleep 60", port: 0 });
    expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining("port")]);
  });

  test("a deadline that is the operator's says so, a shorter one advises a larger", async () => {
    const { call } = await connect("modern", { words: ["--timeout", "1s"] });
    const clamped = textOf(await call("run", { command: "sleep 60", timeoutMs: 50_000 }));
    expect(clamped).toContain("timed out after 1000 ms");
    expect(clamped).toContain("the operator's limit");
    expect(clamped).not.toContain("larger");
    const short = textOf(await call("run", { command: "sleep 60", timeoutMs: 100 }));
    expect(short).toContain("give it a larger timeoutMs (at most 1000)");
  });

  test("an unknown field and a missing directory are named once", async () => {
    const { call } = await connect("modern");
    expect(textOf(await call("run", { command: "true", comand: "x" }))).toContain(
      'Unknown field "comand"',
    );
    const text = textOf(await call("run", { command: "true", cwd: "nope" }));
    expect(text.match(/cannot enter/g)).toHaveLength(1);
  });

  test("a refused connection names host and port, and what grants it", async () => {
    const { call } = await connect("modern");
    const text = textOf(await call("run", { command: "echo x > /dev/tcp/refused.example/443" }));
    expect(text).toContain("refused.example");
    expect(text).toContain("--allow-host refused.example");
  });

  test("the command that commits names the transactions' directory", async () => {
    const { call, state } = await connect("modern");
    await call("run", { command: "echo x > y" });
    const refused = textOf(await call("commit"));
    expect(refused).toMatch(/`native-runner tx commit [0-9a-f]{12} --state-directory /);
    expect(refused).toContain(`--state-directory ${state}\``);
  });
});
