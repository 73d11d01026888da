/** `native-runner home`: the homes that are kept for workspaces (option `home: "kept"`). */

import { resolve } from "node:path";
import type { Command, OutputConfiguration } from "commander";
import pc from "picocolors";
import { type KeptHome, keptHomes, keptHomesDirectory, putAside } from "../home/kept-homes.js";
import { realPathOr } from "../paths.js";
import { NativeWorkspaceFiles } from "../runners/workspace-files.js";
import { visibleLine } from "../text.js";
import { CliError, wantsColors, watchOutput } from "./terminal.js";
import { age } from "./transactions/tx.js";

type ListOptions = { json?: boolean };
type ClearOptions = { json?: boolean; all?: boolean };

/** The implementations of the commands. */
export type HomeActions = {
  homeList(options: ListOptions): Promise<void>;
  homeClear(named: readonly string[], options: ClearOptions): Promise<void>;
};

const kNoHome = 120;

/** Adds the commands. `say`: returns how parse errors are written, by the command's name. */
export function addHomeCommand(
  program: Command,
  actions: HomeActions,
  say: (name: string) => OutputConfiguration,
): void {
  const home = program
    .command("home")
    .description("the homes that `--home kept` keeps for workspaces")
    .usage("list|clear [options] [ID|WORKSPACE...]")
    .configureOutput(say("home"))
    .addHelpText(
      "after",
      `
Exit codes: 0 done; 2 misuse; ${kNoHome} no such home.

Examples:
  $ native-runner home list
  $ native-runner home clear .
  $ native-runner home clear --all`,
    );
  home
    .command("list")
    .description("those on disk, the one that was used last first")
    .option("--json", "print JSON instead")
    .configureOutput(say("home list"))
    .action(actions.homeList);
  home
    .command("clear")
    .description("remove them with all that commands have put there")
    .argument("[home...]", "an id, or enough of its beginning, or the path of the workspace")
    .option("--all", "all of them")
    .option("--json", "print JSON instead")
    .configureOutput(say("home clear"))
    .hook("preAction", (command) => {
      const isAll = command.opts<ClearOptions>().all === true;
      if (isAll === command.args.length > 0) {
        command.error("error: name the homes to remove, or use --all");
      }
    })
    .action(actions.homeClear);
}

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** `home list`. */
export async function homeList(options: ListOptions): Promise<void> {
  watchOutput(() => {});
  const homes = keptHomes();
  if (options.json) print(homes);
  else process.stdout.write(homesText(homes, Date.now(), wantsColors(process.stdout)));
}

function find(homes: readonly KeptHome[], name: string): KeptHome {
  const path = realPathOr(resolve(name)); // the workspace may be gone
  const isId = /^[0-9a-f]{1,16}$/.test(name);
  const found = homes.filter(({ id, workspace }) => {
    return workspace === path || (isId && id.startsWith(name));
  });
  const [first, ...others] = found;
  if (first === undefined) {
    const fix = "`native-runner home list` shows those that there are";
    throw new CliError(`no home is kept for ${visibleLine(name)}`, kNoHome, fix);
  }
  if (others.length === 0) return first;
  const ids = found.map(({ id }) => id).join(", ");
  throw new CliError(`${name} means several homes: ${ids}`, 2);
}

/** `home clear`: takes the homes away at once, then removes what is in them. */
export async function homeClear(named: readonly string[], options: ClearOptions): Promise<void> {
  watchOutput(() => {});
  const homes = keptHomes();
  const chosen = options.all ? homes : [...new Set(named.map((name) => find(homes, name)))];
  const left = new Set(chosen.flatMap((home) => putAside(home)));
  const files = new NativeWorkspaceFiles({ shadowDir: keptHomesDirectory() });
  for (const name of left) {
    await files.remove(name, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error; // another `clear` has removed it
    });
  }
  if (options.json) return print({ cleared: chosen });
  for (const { id, workspace } of chosen) {
    process.stdout.write(`cleared ${id}, of ${visibleLine(workspace)}\n`);
  }
  if (chosen.length === 0) process.stdout.write("no homes\n");
}

/** Returns a line for each home, under a heading; ends with a newline. Pure. */
export function homesText(homes: readonly KeptHome[], now: number, useColors: boolean): string {
  if (homes.length === 0) return "no homes\n";
  const rows = homes.map((home) => ({ ...home, used: age(now - home.usedAt.getTime()) }));
  const width = Math.max("USED".length, ...rows.map(({ used }) => used.length));
  const heading = `ID                ${"USED".padEnd(width)}  WORKSPACE`;
  const lines = rows.map(
    ({ id, used, workspace }) => `${id}  ${used.padEnd(width)}  ${visibleLine(workspace)}`,
  );
  return `${[pc.createColors(useColors).bold(heading), ...lines].join("\n")}\n`;
}
