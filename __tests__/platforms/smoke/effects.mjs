/** What only the bubblewrap runner has: standing and cloned sandboxes, transactions. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  expectEqual,
  expectSetUp,
  expectTrue,
  shown,
  textOf,
  unavailable,
} from "./expectations.mjs";

/** Options whose walls a bwrap may be too old for, or a kernel. */
const kVariants = [
  { isolation: "compat" },
  { procBind: false },
  { devBind: false },
  { allowWriteWorkspace: false },
  { required: ["seccomp", "userns-disabled"] },
  { layers: ["landlock"] },
  { layers: ["landlock"], required: ["landlock-fs"] },
];

export async function checkEffects({ report, make, runner, workspace }) {
  const limits = { timeoutMs: 20_000 * report.slow };
  const check = (name, body) => report.check(`bubblewrap: ${name}`, body);
  const using = async (options, body) => {
    const other = make(options);
    try {
      return await body(other);
    } finally {
      await other.close();
    }
  };

  for (const options of kVariants) {
    await check(JSON.stringify(options), () =>
      using(options, async (other) => {
        const run = await other.exec({ argv: ["sh", "-c", "echo ran"], limits });
        expectSetUp(run);
        expectEqual(textOf(run.stdout), "ran", shown(run));
        return run.audits[0].layers.join(", ");
      }),
    );
  }
  await check("a prewarmed sandbox", () =>
    using({ prewarm: 2 }, async (other) => {
      await other.warm().catch((error) => {
        throw error.code === "ERR_SANDBOX_SETUP" ? unavailable(error.message) : error;
      });
      const run = await other.exec({ argv: ["echo", "ran"], limits });
      expectEqual(textOf(run.stdout), "ran", shown(run));
      if (run.audits[0].start !== "prewarmed")
        throw unavailable(run.audits[0].coldReason ?? "cold");
    }),
  );
  await check("a cloned sandbox", () =>
    using({ prewarm: 0 }, async (other) => {
      let last;
      for (let left = 20; left > 0 && last?.audits[0].start !== "cloned"; left -= 1) {
        last = await other.exec({ argv: ["echo", "ran"], limits });
        expectEqual(textOf(last.stdout), "ran", shown(last));
      }
      if (last.audits[0].start !== "cloned") throw unavailable(last.audits[0].coldReason ?? "cold");
    }),
  );
  for (const backend of ["overlay", "copy"]) {
    await check(`a transaction by ${backend}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "native-runner-smoke-"));
      try {
        await transact({ runner, workspace, directory, backend, limits });
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
  }
}

async function transact({ runner, workspace, directory, backend, limits }) {
  const file = join(workspace, "kept");
  writeFileSync(file, "host");
  const transaction = await runner.openTransaction({ directory, backend });
  try {
    const script = "echo mine > kept; echo new > made";
    const run = await transaction.exec({ argv: ["sh", "-c", script], limits });
    expectEqual(run.exitCode, 0, shown(run));
    expectEqual(readFileSync(file, "utf8"), "host", "the host's file was changed");
    const paths = (await transaction.changes()).map(({ path }) => path);
    expectEqual(paths.join(" "), "kept made", "changes()");
    expectTrue((await transaction.diff()).includes("+mine"), "diff()");
    await transaction.commit();
    expectEqual(readFileSync(file, "utf8"), "mine\n", "commit()");
    await transaction.undo();
    expectEqual(readFileSync(file, "utf8"), "host", "undo()");
    expectTrue(!existsSync(join(workspace, "made")), "undo()");
  } finally {
    await transaction.discard();
  }
}
