/** Every tool, by the official clients of both protocol generations. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { whyNoCli } from "../support/built-cli.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { connect, kGenerations, linksOf, textOf } from "./support/client.js";

const kNames =
  "run start read stop view edit search changes diff commit discard checkpoint rollback fork compare adopt".split(
    " ",
  );

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner mcp", () => {
  for (const generation of kGenerations) {
    const yes = { person: () => "yes" as const };

    test(`${generation}: lists its tools with schemas and annotations`, async () => {
      const { client, protocol } = await connect(generation);
      expect(protocol).toBe(
        { first: "first", legacy: "2025-11-25", modern: "2026-07-28" }[generation],
      );
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(kNames);
      for (const { description, inputSchema, outputSchema, annotations } of tools) {
        expect(description).toMatch(/\w/);
        expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
        expect(outputSchema).toMatchObject({ type: "object" });
        expect(annotations).toHaveProperty("readOnlyHint");
        expect(annotations).toHaveProperty("openWorldHint");
      }
      const hinted = (hint: "readOnlyHint" | "destructiveHint") =>
        tools.flatMap(({ name, annotations }) => (annotations?.[hint] ? [name] : []));
      expect(hinted("readOnlyHint")).toEqual([
        "read",
        "view",
        "search",
        "changes",
        "diff",
        "compare",
      ]);
      expect(hinted("destructiveHint")).toEqual(["commit", "discard", "rollback", "adopt"]);
    });

    test(`${generation}: what one call puts into the home is there for the next, and no change`, async () => {
      const { call, client } = await connect(generation);
      expect(client.getInstructions?.() ?? "HOME can be written").toContain("HOME can be written");
      await call("run", { command: "mkdir -p ~/.local/lib && echo installed > ~/.local/lib/x" });
      const result = await call("run", { command: "cat ~/.local/lib/x" });
      expect(textOf(result)).toContain("installed");
      expect((await call("changes")).structuredContent).toMatchObject({ total: 0 });
    });

    test(`${generation}: run tells its progress while it runs`, async () => {
      const { call } = await connect(generation);
      let going: Promise<unknown> | undefined;
      const onProgress = (message: string) => {
        if (message.includes("up")) going ??= call("run", { command: "touch go" });
      };
      const result = await call(
        "run",
        { command: "echo up; until [ -e go ]; do sleep 0.05; done", timeoutMs: 20_000 },
        { onProgress },
      );
      expect(result.structuredContent).toMatchObject({ outcome: "exited", exitCode: 0 });
      await going;
    });

    test(`${generation}: run tells output and outcome`, async () => {
      const { call } = await connect(generation);
      const result = await call("run", {
        command: "echo out; echo err >&2; cat; exit 3",
        stdin: "from stdin\n",
        env: { A: "b" },
      });
      expect(result.structuredContent).toMatchObject({
        outcome: "exited",
        exitCode: 3,
        stdout: "out\nfrom stdin\n",
        stderr: "err\n",
        truncated: false,
        denials: [],
      });
      expect(textOf(result)).toContain("[exit code 3]");
      const direct = await call("run", { argv: ["printf", "%s|", "a b", "$HOME"] });
      expect(direct.structuredContent).toMatchObject({ exitCode: 0, stdout: "a b|$HOME|" });
    });

    test(`${generation}: what is changed waits, and is committed when a person says yes`, async () => {
      const asked: string[] = [];
      const { call, workspace } = await connect(generation, {
        person: (message) => {
          asked.push(message);
          return "yes";
        },
      });
      writeFileSync(join(workspace, "old"), "one\n");
      await call("run", { command: "echo two > old; mkdir d; echo new > d/new" });
      expect(readFileSync(join(workspace, "old"), "utf8")).toBe("one\n");
      const changes = await call("changes");
      expect(changes.structuredContent).toMatchObject({
        total: 3,
        changes: [
          { path: "d", kind: "added", type: "directory" },
          { path: "d/new", kind: "added", type: "file", size: 4 },
          { path: "old", kind: "modified", type: "file" },
        ],
      });
      expect(textOf(changes)).toContain("2 changes: 1 added, 1 modified");
      const some = await call("changes", { paths: ["d"] });
      expect(some.structuredContent).toMatchObject({ total: 2 });
      const committed = await call("commit", { paths: ["old"] });
      expect(committed.structuredContent).toMatchObject({ total: 1, left: 2 });
      expect(asked).toHaveLength(1);
      expect(asked[0]).toContain(workspace);
      expect(asked[0]).toContain("M old");
      expect(asked[0]).not.toContain("d/new");
      expect(readFileSync(join(workspace, "old"), "utf8")).toBe("two\n");
      expect(existsSync(join(workspace, "d"))).toBe(false);
      await call("commit");
      expect(readFileSync(join(workspace, "d/new"), "utf8")).toBe("new\n");
      expect(textOf(await call("commit"))).toBe("there is nothing to commit");
    });

    test(`${generation}: a person who says no, or nothing, commits nothing`, async () => {
      for (const answer of ["no", "cancel"] as const) {
        const { call, workspace } = await connect(generation, { person: () => answer });
        await call("run", { command: "echo new > file" });
        const refused = await call("commit");
        expect(refused.isError).toBe(true);
        expect(textOf(refused)).toContain("the person has refused");
        expect(existsSync(join(workspace, "file"))).toBe(false);
        expect((await call("changes")).structuredContent).toMatchObject({ total: 1 });
      }
    });

    test(`${generation}: a client that can't ask commits nothing`, async () => {
      const { call, workspace } = await connect(generation);
      await call("run", { command: "echo new > file" });
      const refused = await call("commit");
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toMatch(/can't ask a person.*native-runner tx commit [0-9a-f]{12}/s);
      expect(existsSync(join(workspace, "file"))).toBe(false);
    });

    test(`${generation}: the diff is a patch, and a resource has all of it`, async () => {
      const { call, client, workspace } = await connect(generation);
      await call("run", { command: "seq 1 20000 > numbers" });
      const result = await call("diff", { maxBytes: 1000 });
      expect(result.structuredContent).toMatchObject({ truncated: true });
      const [uri = ""] = linksOf(result);
      const { contents } = await client.readResource({ uri });
      const patch = contents.map((content) => ("text" in content ? content.text : "")).join("");
      execFileSync("git", ["apply", "-"], { cwd: workspace, input: patch });
      expect(readFileSync(join(workspace, "numbers"), "utf8").split("\n")).toHaveLength(20_001);
      await expect(
        client.readResource({ uri: "native-runner://output/999/stdout/0" }),
      ).rejects.toThrow();
    });

    test(`${generation}: start, read and stop`, async () => {
      const { call } = await connect(generation);
      const started = await call("start", { command: "echo up; echo er >&2; exec sleep 1000" });
      expect(started.structuredContent).toEqual({ process: "p1" });
      let output = "";
      while (!output.includes("er")) {
        const { structuredContent } = await call("read", { process: "p1", waitMs: 5000 });
        expect(structuredContent).toMatchObject({ running: true });
        output += String((structuredContent as { output: string }).output);
      }
      expect(output).toBe("up\ner\n");
      const waiting = [1, 2].map(() => call("read", { process: "p1", waitMs: 45_000 }));
      const stopped = await call("stop", { process: "p1" });
      for (const { structuredContent } of await Promise.all(waiting)) {
        expect(structuredContent).toMatchObject({ running: false }); // both are reported
      }
      expect(stopped.structuredContent).toMatchObject({ running: false, outcome: "aborted" });
      expect((await call("read", { process: "p2" })).isError).toBe(true);
      await call("start", { command: "cat; echo end" }); // it has no input
      const ended = await call("read", { process: "p2", waitMs: 45_000 });
      expect(ended.structuredContent).toMatchObject({ output: "end\n" });
    });

    test(`${generation}: checkpoint, rollback and discard`, async () => {
      const { call } = await connect(generation);
      const files = async () => textOf(await call("run", { command: "cat * 2>/dev/null || true" }));
      await call("run", { command: "echo one > a" });
      const { structuredContent } = await call("checkpoint", { name: "first" });
      const { id } = structuredContent as { id: string };
      expect(structuredContent).toMatchObject({ checkpoints: [{ id, name: "first" }] });
      await call("run", { command: "echo two > a; echo three > b" });
      expect(await files()).toBe("two\nthree\n");
      await call("rollback", { id });
      expect(await files()).toBe("one\n");
      expect(textOf(await call("rollback", { id: "nonsense" }))).toContain(id);
      expect((await call("discard")).structuredContent).toEqual({ discarded: 1 });
      expect(await files()).toBe("");
      await call("run", { command: "echo four > a" });
      expect(await files()).toBe("four\n");
    });

    test(`${generation}: a grant that a person gives lets the same command get further`, async () => {
      const outside = tempDirectory("outside", "/var/tmp");
      mkdirSync(join(outside, "data"));
      writeFileSync(join(outside, "data", "file"), "contents\n");
      const asked: string[] = [];
      const answers = ["no", "yes"] as const;
      const { call } = await connect(generation, {
        person: (message) => answers[asked.push(message) - 1] ?? "no",
      });
      const command = `cat ${outside}/data/file`;
      const denied = await call("run", { command });
      expect(denied.structuredContent).toMatchObject({
        exitCode: 1,
        denials: [{ kind: "read", what: `read ${outside}/data/file`, grant: "g1" }],
      });
      expect(textOf(denied)).toContain('grants ["g1"]');
      const refused = await call("run", { command, grants: ["g1"] });
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain("the person has refused");
      expect((await call("run", { command })).structuredContent).toMatchObject({ exitCode: 1 });
      const granted = await call("run", { command, grants: ["g1"] });
      expect(granted.structuredContent).toMatchObject({ exitCode: 0, stdout: "contents\n" });
      expect(asked[1]).toContain(`read ${outside}/data/file`);
      expect(asked[1]).toContain(command);
      await call("discard");
      const after = await call("run", { command });
      expect(after.structuredContent).toMatchObject({ exitCode: 0, stdout: "contents\n" });
      expect(asked).toHaveLength(2);
    });

    test(`${generation}: a model can't name a grant that nothing was refused for`, async () => {
      const { call } = await connect(generation, yes);
      const invented = await call("run", { command: "true", grants: ["--mount /:rw"] });
      expect(invented.isError).toBe(true);
      expect((await call("run", { command: "true", grants: ["g1"] })).isError).toBe(true);
    });

    test(`${generation}: a client that can't ask is told what the operator can do`, async () => {
      const { call } = await connect(generation);
      const outside = tempDirectory("outside", "/var/tmp");
      writeFileSync(join(outside, "file"), "contents\n");
      const command = `cat ${outside}/file`;
      expect(textOf(await call("run", { command }))).toContain(`--mount ${outside}/file:ro`);
      const refused = await call("run", { command, grants: ["g1"] });
      expect(textOf(refused)).toContain("can't ask a person");
      expect((await call("run", { command })).structuredContent).toMatchObject({ exitCode: 1 });
    });
  }
});
