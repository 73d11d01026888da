/** A workspace in whose transactions the command line works, and where those lie. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import { kHungMs } from "../../../support/waits.js";
import { kCli } from "../../support/built-cli.js";
import { plainEnvironment } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";

/** What most commands here change. */
export const kEdit = "echo two > a.txt; echo new > b.txt";
export const kSummary = `  M a.txt  4 B
  A b.txt  4 B
2 changes: 1 added, 1 modified
`;

export class Scene {
  readonly workspace: string;
  /** XDG_STATE_HOME. */
  readonly state: string;

  constructor() {
    const top = tempDirectory();
    this.workspace = join(top, "w");
    this.state = join(top, "s");
    mkdirSync(this.workspace);
    writeFileSync(join(this.workspace, "a.txt"), "one\n");
  }

  get environment(): NodeJS.ProcessEnv {
    return { ...plainEnvironment(), XDG_STATE_HOME: this.state, NO_COLOR: "1" };
  }

  get directory(): string {
    return join(this.state, "openagentic/transactions");
  }

  /** The transactions that there are. */
  ids(): string[] {
    return existsSync(this.directory) ? readdirSync(this.directory) : [];
  }

  read(name: string): string {
    return readFileSync(join(this.workspace, name), "utf8");
  }

  cli(...words: string[]) {
    const [program = "", ...args] = [...kCli, ...words];
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: this.workspace,
      encoding: "utf8",
      env: this.environment,
      timeout: kHungMs,
    });
    return { status, stdout, stderr };
  }

  run(options: readonly string[], script: string) {
    return this.cli("run", "--transaction", ...options, "--", "sh", "-c", script);
  }

  /** The one transaction that waits, after some work. */
  waiting(script = kEdit): string {
    expect(this.run([], script).status).toBe(0);
    const [id = "", ...others] = this.ids();
    expect(others).toEqual([]);
    return id;
  }
}
