import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { WorkerWorkspaces } from "../../../../lib/remote/workspace/worker-workspaces.js";
import { describeSandboxed } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { openPlace, type Place, run } from "./caller-and-worker.js";

function filled(text = "one\n"): string {
  const directory = tempDirectory();
  mkdirSync(join(directory, "d"));
  writeFileSync(join(directory, "d/a"), text);
  writeFileSync(join(directory, "b"), "two\n");
  return directory;
}

const treesOf = ({ root }: Place, tenant = "t") => {
  const directory = join(root, "tenants", tenant);
  return readdirSync(directory).flatMap((key) => readdirSync(join(directory, key)));
};

describeSandboxed("conflicts", () => {
  test.each<[string, string, (directory: string) => void]>([
    ["an edit", "echo 1 >> d/a", (at) => appendFileSync(join(at, "d/a"), "host\n")],
    ["a mode", "echo 1 >> d/a", (at) => chmodSync(join(at, "d/a"), 0o600)],
    ["a new file of that name", "echo 1 > new", (at) => writeFileSync(join(at, "new"), "host")],
    ["a removal", "echo 1 >> d/a", (at) => renameSync(join(at, "d/a"), join(at, "elsewhere"))],
    [
      "a directory on the way that is another one",
      "echo 1 > d/new",
      (at) => {
        renameSync(join(at, "d"), join(at, "elsewhere"));
        mkdirSync(join(at, "d"));
      },
    ],
    ["a new file in what goes", "rm -r d", (at) => writeFileSync(join(at, "d/new"), "host")],
  ])("are told of %s", async (_, script, edit) => {
    const place = await openPlace(filled());
    const ended = await run(place, { script, meanwhile: () => edit(place.directory) });
    expect(ended.error).toMatchObject({
      name: "TransactionError",
      code: "ERR_TRANSACTION_CONFLICT",
    });
    expect(ended.committed).toBe(false);
    const again = await run(place, { script: "echo fine > fine" });
    expect(again.report?.committed).toMatchObject([{ path: "fine" }]);
  });

  test("are not told of what the command has left alone", async () => {
    const place = await openPlace(filled());
    const edit = () => appendFileSync(join(place.directory, "b"), "host\n");
    const { report } = await run(place, { script: "echo 1 >> d/a", meanwhile: edit });
    expect(report?.committed).toMatchObject([{ path: "d/a" }]);
    expect(readFileSync(join(place.directory, "b"), "utf8")).toBe("two\nhost\n");
  });
});

describeSandboxed("protected paths", () => {
  const script = "mkdir -p .git/hooks; echo x > .git/hooks/post-commit; echo y > fine";

  test("are refused, and all else with them", async () => {
    const place = await openPlace(filled());
    const { error } = await run(place, { script });
    expect(error).toMatchObject({ code: "ERR_TRANSACTION_PROTECTED" });
    expect(existsSync(join(place.directory, "fine"))).toBe(false);
  });

  test("are written where the caller has named them", async () => {
    const place = await openPlace(filled(), { allowProtected: [".git/hooks"] });
    const { error, committed } = await run(place, { script });
    expect(error).toBeUndefined();
    expect(committed).toBe(true);
    expect(existsSync(join(place.directory, ".git/hooks/post-commit"))).toBe(true);
  });
});

describeSandboxed("a worker's trees", () => {
  test("are not shared by tenants", async () => {
    const place = await openPlace(filled());
    await run(place, { script: "true", tenant: "one" });
    await run(place, { script: "true", tenant: "two" });
    expect(treesOf(place, "one")).toHaveLength(1);
    expect(treesOf(place, "two")).toHaveLength(1);
    expect(treesOf(place, "one")).not.toEqual(treesOf(place, "two"));
    const wrong = await run(place, { script: "true", tenant: "../one" });
    expect(wrong.workerError).toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
  });

  test("are apart where runs of different states go on at once", async () => {
    const place = await openPlace(filled());
    const begun = run(place, {
      script: "cat d/a; echo one > mine1",
      meanwhile: async () => {
        writeFileSync(join(place.directory, "d/a"), "edited\n");
        const inner = await run(place, { script: "cat d/a; ls; echo two > mine2" });
        expect(inner.error ?? inner.workerError).toBeUndefined();
        expect(inner.result?.stdoutText).toBe("edited\nb\nd\n");
        expect(treesOf(place)).toHaveLength(2);
      },
    });
    const outer = await begun;
    expect(outer.error ?? outer.workerError).toBeUndefined();
    expect(outer.result?.stdoutText).toBe("one\n");
    const { result } = await run(place, { script: "ls; cat d/a" });
    expect(result?.stdoutText).toBe("b\nd\nmine1\nmine2\nedited\n");
  });

  test("go where there is no room, those that were used last at the end", async () => {
    const root = tempDirectory("cache");
    const first = await openPlace(filled("1".repeat(40_000)), { root, cacheBytes: 70_000 });
    const second = filled("2".repeat(40_000));
    await run(first, { script: "true" });
    const { workspace } = await openPlace(second, { cacheBytes: 70_000 });
    await run({ ...first, directory: second, workspace }, { script: "true" });
    expect(treesOf(first)).toHaveLength(1);
    const big = await openPlace(filled("3".repeat(200_000)));
    const refused = await run({ ...first, workspace: big.workspace }, { script: "true" });
    expect(refused.error).toMatchObject({ code: "ERR_WORKSPACE_LIMIT" });
  });

  test("are found again, whatever state a worker has left them in", async () => {
    const place = await openPlace(filled());
    await run(place, { script: "true" });
    const [tree = ""] = treesOf(place);
    await expect(WorkerWorkspaces.open(place.root)).rejects.toMatchObject({
      code: "ERR_WORKSPACE_LOCKED",
    });
    await place.worker.close();
    const [key = ""] = readdirSync(join(place.root, "tenants/t"));
    const left = join(place.root, "tenants/t", key, tree);
    writeFileSync(join(left, "files/d/a"), "half written");
    writeFileSync(join(left, "files/stray"), "left");
    mkdirSync(join(left, "incoming"));
    writeFileSync(join(left, "incoming/x"), "half received");
    const worker = await WorkerWorkspaces.open(place.root);
    const { result } = await run({ ...place, worker }, { script: "ls; cat d/a" });
    expect(result?.stdoutText).toBe("b\nd\none\n");
    expect(treesOf(place)).toEqual([tree]);
    await worker.close();
  });
});
