// What checkShellCommand costs for ordinary commands, against the parser alone. It starts nothing,
// so it is no scenario of the suite: node bench/scenarios/shell-policy.mjs [--quick]

import { pathToFileURL } from "node:url";

import { parse } from "unbash";

import { checkShellCommand } from "../../dist/shell-policy/check-shell-command.js";

const kPolicy = {
  shellAllowlist: ["ls", "cat", "cd", "git", "grep", "sed", "npm", "npx", "vitest", "node", "tail"],
  shellAllowlistMode: "strict",
};
const kCommands = [
  "ls -la",
  "git status",
  "npm test 2>&1 | tail -n 40",
  "cd packages/core && npx vitest run",
  "grep -rn 'TODO' src --include='*.ts'",
  'git commit -m "fix: a name with spaces"',
  "sed -n '1,20p' README.md",
  `cat > notes.txt <<'EOF'\n${"a line of text\n".repeat(100)}EOF`,
];
const kSizes = { full: { rounds: 60, runs: 2000 }, quick: { rounds: 10, runs: 500 } };

function microseconds(work, runs) {
  const start = process.hrtime.bigint();
  for (let run = 0; run < runs; run++) work();
  return Number(process.hrtime.bigint() - start) / 1e3 / runs;
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Rows of { command, checkP50, checkP99, parseP50 } in µs; a sample is the mean of one round. */
export function measureShellPolicy(size = "full") {
  const { rounds, runs } = kSizes[size];
  return kCommands.map((command) => {
    const check = () => checkShellCommand(command, kPolicy);
    if (!check().allowed) throw new Error(`refused: ${check().blocked.reason} ${command}`);
    const checks = [];
    const parses = [];
    microseconds(check, runs);
    for (let round = 0; round < rounds; round++) {
      checks.push(microseconds(check, runs));
      parses.push(microseconds(() => parse(command), runs));
    }
    checks.sort((a, b) => a - b);
    parses.sort((a, b) => a - b);
    return {
      command: JSON.stringify(command.split("\n")[0]),
      checkP50: quantile(checks, 0.5),
      checkP99: quantile(checks, 0.99),
      parseP50: quantile(parses, 0.5),
    };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const rows = measureShellPolicy(process.argv.includes("--quick") ? "quick" : "full");
  console.log("µs per command: check p50, check p99, parser alone p50");
  for (const { command, checkP50, checkP99, parseP50 } of rows) {
    const numbers = [checkP50, checkP99, parseP50].map((each) => each.toFixed(1).padStart(8));
    console.log(`${numbers.join("")}  ${command}`);
  }
}
