// Commands as an agent writes them all day, and how work on each of them is timed.

export const kAllowed = "ls cat cd git grep sed npm npx vitest node tail".split(" ");

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

/** A burst: `runs` passes over the commands; the µs of each pass, per command. */
export function timed(work) {
  return ({ runs }) => {
    const commandUs = [];
    for (let run = 0; run < runs; run++) {
      const from = process.hrtime.bigint();
      for (const command of kCommands) work(command);
      commandUs.push(Number(process.hrtime.bigint() - from) / 1e3 / kCommands.length);
    }
    return { commandUs };
  };
}
