// What the shell lists cost before a command is run; nothing is started here.

const shellLists = {
  name: "shell-lists",
  work:
    "checkShellCommand in strict mode, on eight ordinary commands in turn (a sample is their mean), " +
    "against the parser alone",
  variants: ["shellLists", "shellParser"],
  sizes: { full: { rounds: 40, runs: 500 }, quick: { rounds: 5, runs: 200 } },
  request: {},
  measures: [
    {
      name: "one command",
      unit: "µs",
      sample: (burst) => burst.commandUs,
      limit: { of: "p50", atMost: 20, aim: 10 },
    },
  ],
};

// Commands as an agent writes them all day, and how work on each of them is timed.

const kAllowed = "ls cat cd git grep sed npm npx vitest node tail".split(" ");

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
function timed(work) {
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

/** This package's check of a shell command, with an allow list. */
async function openLists() {
  const { checkShellCommand } = await import("../../dist/index.js");
  const policy = { shellAllowlist: kAllowed, shellAllowlistMode: "strict" };
  const check = (command) => {
    const { allowed, blocked } = checkShellCommand(command, policy);
    if (!allowed) throw new Error(`refused: ${blocked.reason} ${command}`);
  };
  return { burst: timed(check) };
}

/** The parser that the check is built on, by itself. */
async function openParser() {
  const { parse } = await import("unbash");
  return { burst: timed(parse) };
}

export const scenarios = [shellLists];

export const variants = {
  shellLists: { title: "our shell lists", kind: "ours", open: openLists },
  shellParser: {
    title: "unbash alone",
    kind: "peer",
    startsNothing: true,
    open: openParser,
  },
};
