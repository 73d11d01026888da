// A transaction of that runner.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runner } from "./runner.mjs";

const directory = mkdtempSync(join(tmpdir(), "state-"));

export const transaction = await runner.openTransaction({ directory });
