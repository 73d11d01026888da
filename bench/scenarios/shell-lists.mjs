// What the shell lists cost before a command is run; nothing is started here.

export const shellLists = {
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
