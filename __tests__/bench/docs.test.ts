import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { blockNames, blocksOf, kPages, withBlock } from "../../bench/docs.mjs";
import { kPlots } from "../../bench/plots/index.mjs";
import { markdownTable, readResults, scenarioTables, writeResults } from "../../bench/report.mjs";
import { kScenarios, kVariants } from "../../bench/subjects/index.mjs";

describe("blocks of the page", () => {
  const page =
    "a\n<!-- bench:one-run -->\nold\n<!-- /bench -->\nb\n<!-- bench:rest -->\n<!-- /bench -->";

  it("are found in order and replaced one by one, again and again", () => {
    expect(blockNames(page)).toEqual(["one-run", "rest"]);
    const once = withBlock(page, "one-run", "new");
    expect(once).toContain("a\n<!-- bench:one-run -->\n\nnew\n\n<!-- /bench -->\nb\n");
    expect(once).not.toContain("old");
    expect(withBlock(once, "one-run", "new")).toBe(once);
  });

  it("must be there", () => {
    expect(() => withBlock(page, "two", "new")).toThrow("no block <!-- bench:two -->");
  });

  it("hold tables whose cells can't end them", () => {
    const table = markdownTable({ head: ["", "p50"], lines: [["a | b", "1"]] });
    expect(table).toBe("|  | p50 |\n| --- | --: |\n| a \\| b | 1 |");
  });
});

const kFacts = {
  date: "2000-01-01",
  machine: {
    ...{ cores: 2, cpu: "a processor", memoryGiB: 8, kernel: "6.1", node: "v20" },
    ...{ bwrap: "bubblewrap 0.8", transparentHugePages: "always", isRoot: false, busyBefore: 0 },
  },
  sandbox: { layers: ["seccomp"], options: [] },
  missing: {},
  isolation: {
    firejail: {
      ...{ namespaces: ["pid"], seccomp: true, noNewPrivs: true, capabilities: 0 },
      ...{ readsHome: true, readsElsewhere: true, writesElsewhere: false, reachesLoopback: false },
    },
  },
};

describe("results", () => {
  const burst = {
    ...{ wallMs: 10, runMs: [4, 5, 6], cpuMs: 3, machineMs: 6 },
    ...{ residentBytes: 5e7, peakGrowthBytes: 2e6, loopP50Ms: 1, loopP99Ms: 2 },
  };
  const rowless = kScenarios
    .filter(({ name }) => name !== "shell-lists")
    .map((scenario) => ({
      scenario,
      points: (scenario.axis?.at ?? [undefined]).map((at) => ({
        at,
        rows: [],
        results: new Map(scenario.variants.map((name) => [name, [burst, burst]])),
      })),
    }));

  async function written() {
    const directory = await mkdtemp(join(tmpdir(), "native-runner-bench-docs-"));
    const file = join(directory, "results.json");
    try {
      await writeResults(file, { size: "full", scenarios: rowless });
      return await readResults(file);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  it("are read with their bars, those of an axis at one value", async () => {
    const { scenarios } = await written();
    const concurrency = scenarios.find(({ scenario }) => scenario.name === "concurrency");
    const barred = concurrency?.points.filter(({ rows }) =>
      rows.some((row) => "bar" in row && row.bar !== undefined),
    );
    expect(barred?.map(({ at }) => at)).toEqual([8]);
  });

  it("make every plot, well formed, in light and dark", async () => {
    const report = await written();
    expect(kPlots.map(({ file }) => file)).toHaveLength(6);
    for (const { draw } of kPlots) {
      const svg = draw(report) ?? "";
      expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]*>/);
      expect(svg).toContain("prefers-color-scheme:dark");
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
      const opened = svg.match(/<[a-z]+(?=[ >])(?![^>]*\/>)/g) ?? [];
      expect(opened.length).toBe((svg.match(/<\/[a-z]+>/g) ?? []).length);
    }
  });

  it("fill every block of the pages, and no other", async () => {
    const pages = await Promise.all(kPages.map((page) => readFile(page, "utf8")));
    const report = { ...(await written()), ...kFacts };
    const names = pages.flatMap(blockNames);
    expect(new Set(names).size).toBe(names.length);
    const blocks = blocksOf(report, names);
    expect([...blocks.keys()].sort()).toEqual(names.sort());
    for (const [name, text] of blocks) expect(text, name).not.toMatch(/NaN|undefined|Infinity/);
    expect(blocks.get("isolation")).toContain("| firejail | 5.00 | 1.00x | **no** |");
    expect(() => blocksOf(report, ["two"])).toThrow("`two`");
  });

  it("leave out of the pages the host's memory and spreads along an axis", async () => {
    const { scenarios } = await written();
    const titles = (name: string, isBrief: boolean) => {
      const measured = scenarios.find(({ scenario }) => scenario.name === name);
      if (measured === undefined) throw new Error(`no scenario ${name}`);
      const { scenario, points } = measured;
      return scenarioTables(scenario, points, { isBrief }).map(({ title }) => title);
    };
    expect(titles("one-run", false)).toContain("host RSS, MiB");
    expect(titles("one-run", true)).toEqual(["one run, ms", "host CPU per run, ms"]);
    const throughput = "throughput, runs/s: p50 (p10–p90) by runs in flight";
    expect(titles("concurrency", false)).toContain(throughput);
    expect(titles("concurrency", true)).toContain("throughput, runs/s: p50 by runs in flight");
  });

  it("make no plot of what was not measured", () => {
    for (const { draw } of kPlots) expect(draw({ scenarios: [] })).toBeUndefined();
  });
});

describe("scenarios", () => {
  it("hold clones to bwrap and to a bare start of the command", () => {
    const barsOf = (scenario: string, subject: string) =>
      kScenarios
        .find(({ name }) => name === scenario)
        ?.measures.filter(({ of }) => of === subject)
        .map(({ name, bars }) => ({ name, bars }));
    expect(barsOf("one-run", "cloned")).toEqual([
      { name: "one run", bars: { floor: { atMost: 0.28, aim: 0.24 } } },
    ]);
    expect(barsOf("concurrency", "cloned")).toEqual([
      { name: "throughput", bars: { floor: { atLeast: 4.5, aim: 5.5 } } },
      { name: "CPU of the machine per run", bars: { floor: { atMost: 0.3, aim: 0.25 } } },
    ]);
    expect(barsOf("one-run", "prewarmed")?.[0]?.bars).toMatchObject({
      bare: { atMost: 1.7, aim: 1.5 },
    });
  });

  it("hold sessions to a bare start of the command, and to cold runs", () => {
    const barsOf = (scenario: string) =>
      kScenarios
        .find(({ name }) => name === scenario)
        ?.measures.filter(({ of }) => of === "session")
        .map(({ name, bars }) => ({ name, bars }));
    expect(barsOf("one-run")).toEqual([
      { name: "one run", bars: { bare: { atMost: 1.2, aim: 1.1 } } },
    ]);
    expect(barsOf("concurrency")).toEqual([
      { name: "throughput", bars: { ours: { atLeast: 5, aim: 8 } } },
    ]);
  });

  it("name variants that exist", () => {
    for (const { variants } of kScenarios) {
      for (const name of variants) expect(kVariants[name]?.title, name).toBeTypeOf("string");
    }
  });
});
