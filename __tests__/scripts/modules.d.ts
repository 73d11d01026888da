// The types of what the tests call in scripts/, which is plain JavaScript.

declare module "*/lib/gtest-output.mjs" {
  type Result = {
    name: string;
    state: "passed" | "failed" | "skipped";
    output: string;
    reason: string;
  };
  export function testsListed(text: string): string[];
  export class GtestOutput {
    readonly results: Result[];
    readonly current: string | undefined;
    take(line: string): void;
    endWith(reason: string): void;
  }
}

declare module "*/lib/gtest.mjs" {
  type Named = { name: string; reason: string };
  type Counts = { passed: number; failed: Named[]; skipped: Named[] };
  export function runGtest(words: string[], options?: { boundMs?: number }): Promise<Counts>;
}

declare module "*/dev/native-rooms.mjs" {
  export function programsOf(file: string): string[] | undefined;
  export function suitesIn(text: string): string[];
  export function suitesNear(file: string): string[];
  export function filterOf(suites: readonly string[]): string;
}

declare module "*/lib/steps.mjs" {
  export function durationText(seconds: number): string;
  export function timeTable(rows: { label: string; seconds: number }[]): string[];
}

declare module "*/scripts/lib/cmake-cache.mjs" {
  export function movedFrom(directory: string, root: string): string | undefined;
}

declare module "*/platforms/expected.mjs" {
  export function unexpected(name: string, user: string, leftOut: readonly string[]): string[];
}

declare module "*/platforms/table.mjs" {
  type Result = {
    passed: number;
    failed: string[];
    leftOut: string[];
    lacks?: string[];
    importMs?: number;
    firstMs?: number;
  };
  type Row = {
    name: string;
    how: string;
    date: string;
    commit: string;
    failed: readonly string[];
    root?: Result;
    user?: Result;
    units?: { passed: number; failed: readonly unknown[] };
  };
  export function tableOf(rows: readonly Row[]): string;
  export function mergedTable(
    before: string,
    rows: readonly Row[],
    names: readonly string[],
  ): string;
}

declare module "*/scripts/lib/targets.mjs" {
  type Machine = { arch: string; libc: string };
  type Target = Machine & { name: string };
  export const targets: readonly Target[];
  export function targetOf(machine: Machine, asked?: Partial<Machine>): Target;
  export function presetFor(target: Machine & { name?: string }, machine: Machine): string;
  export function isCross(preset: string): boolean;
}

declare module "*/machines/console.mjs" {
  type Part = { work: string; user: string; output: string; code: number | undefined };
  export function readConsole(output: string): {
    kernel: string | undefined;
    isDone: boolean;
    parts: Part[];
  };
}

declare module "*/machines/doctor.mjs" {
  export function misdiagnoses(
    text: string,
    known: { landlockAbi: number; refusing?: string | undefined },
  ): string[];
}

declare module "*/containers/doctor.mjs" {
  export function contradictions(text: string, fix: RegExp): string[];
  export function lackingRuntimes(text: string): string[];
}

declare module "*/release/bill.mjs" {
  type Licence = { expression?: string; license?: { id?: string; name?: string } };
  type Component = { name: string; version: string; licenses?: Licence[] };
  export function unlicensed(components: readonly object[] | readonly Component[]): string[];
}

declare module "*/release/binaries.mjs" {
  export function placesIn(bytes: Buffer, places?: readonly string[]): string[];
}

declare module "*/release/version.mjs" {
  type Texts = {
    version: string;
    lock: { version?: string; packages?: Record<string, { version?: string }> };
    changelog: string;
  };
  export function versionComplaints(texts: Texts): string[];
}

declare module "*/checks/class-names.mjs" {
  export function repeatedNames(
    sources: readonly (readonly [path: string, text: string])[],
  ): [name: string, files: string[]][];
}
