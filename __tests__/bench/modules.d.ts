// The types of what the tests call in bench/, which is plain JavaScript.

declare module "*/bench/statistics.mjs" {
  type Burst = Record<string, unknown>;
  export function percentile(ascending: ArrayLike<number>, q: number): number;
  export function summarize(samples: readonly number[]): Record<string, number>;
  export function fallAfterPeak(values: readonly number[]): number;
  export function compare(
    ours: readonly number[][],
    others: readonly number[][],
    tail: "p1" | "p99",
  ): { p50: number; tail: number; p10OfRounds: number; p90OfRounds: number };
  export function pointRows(
    scenario: { measures: object[] },
    results: Map<string, Burst[]>,
  ): { of: string; against?: string; ratio?: { p50: number }; verdict: string }[];
}

declare module "*/bench/report.mjs" {
  type Measured = { scenario: { name: string }; points: { at?: number; rows: object[] }[] };
  export function markdownTable(table: { head: string[]; lines: string[][] }): string;
  export function scenarioTables(
    scenario: Measured["scenario"],
    points: Measured["points"],
    options: { isBrief: boolean },
  ): { title: string }[];
  export function writeResults(file: string, report: object): Promise<void>;
  export function readResults(file: string): Promise<{ scenarios: Measured[] }>;
}

declare module "*/bench/plots/index.mjs" {
  export const kPlots: { file: string; draw(report: object): string | undefined }[];
}

declare module "*/bench/subjects/index.mjs" {
  type Scenario = {
    name: string;
    variants: string[];
    measures: { name: string; of?: string; bars?: object }[];
    axis?: { at: number[] };
  };
  export const kScenarios: Scenario[];
  export const kVariants: Record<string, { title: string; isolatesAs?: string }>;
}

declare module "*/bench/docs.mjs" {
  export const kPages: string[];
  export function blockNames(document: string): string[];
  export function withBlock(document: string, name: string, content: string): string;
  export function blocksOf(report: object, names: readonly string[]): Map<string, string>;
}
