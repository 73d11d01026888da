/** The client's roots take away, and never add. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

import { whyNoCli } from "../support/built-cli.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { connect, kGenerations, textOf } from "./support/client.js";

const uri = (path: string) => pathToFileURL(path).href;

describeUnless(whyNoBubblewrap ?? whyNoCli, "the client's roots", () => {
  for (const generation of kGenerations) {
    test(`${generation}: one inside of the workspace is where commands start and what is committed`, async () => {
      const workspace = tempDirectory();
      mkdirSync(join(workspace, "part"));
      const { call } = await connect(generation, {
        workspace,
        person: () => "yes",
        roots: [uri(join(workspace, "part"))],
      });
      const { structuredContent } = await call("run", {
        command: "pwd; echo in > in; echo out > ../out",
      });
      expect(structuredContent).toMatchObject({ stdout: "/workspace/part\n", exitCode: 0 });
      expect((await call("run", { command: "true", cwd: "." })).isError).toBe(true);
      expect((await call("run", { command: "true", cwd: "/workspace/part" })).isError).toBeFalsy();
      expect((await call("commit", { paths: ["out"] })).isError).toBe(true);
      await call("commit");
      expect(existsSync(join(workspace, "part/in"))).toBe(true);
      expect(existsSync(join(workspace, "out"))).toBe(false);
    });

    test(`${generation}: one that holds the workspace changes nothing`, async () => {
      const workspace = tempDirectory();
      const { call } = await connect(generation, {
        workspace,
        roots: [uri("/"), "file://elsewhere/x"],
      });
      expect(textOf(await call("run", { command: "pwd" }))).toBe("/workspace\n");
    });

    test(`${generation}: none that has to do with the workspace: nothing is run`, async () => {
      const { call } = await connect(generation, { roots: [uri("/usr")] });
      const refused = await call("run", { command: "pwd" });
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain("roots");
    });
  }

  for (const generation of ["first", "legacy"] as const) {
    test(`${generation}: other roots than at first hold from when the client says so`, async () => {
      const workspace = tempDirectory();
      for (const name of ["one", "two"]) mkdirSync(join(workspace, name));
      const roots = [uri(join(workspace, "one"))];
      const { call, client } = await connect(generation, { workspace, roots });
      const where = async () => textOf(await call("run", { command: "pwd" }));
      expect(await where()).toBe("/workspace/one\n");
      roots[0] = uri(join(workspace, "two"));
      expect(await where()).toBe("/workspace/one\n"); // it was not said
      await client.sendRootsListChanged();
      expect(await where()).toBe("/workspace/two\n");
      roots[0] = uri("/usr");
      await client.sendRootsListChanged();
      expect((await call("run", { command: "pwd" })).isError).toBe(true);
    });
  }
});
