// The catalogue of commands. All are bounded in time (`sleep 1000` at most, and only where something
// ends them), forks and memory, and harmless where nothing confines them.
//
// `make(random, token, facts)` returns the input of exec and what is to be expected of a run that is
// left alone: `expected`, a list of { kind, exitCode?, signal?, limit? }, `output`, all of its standard
// output, or `bytes`, how much there is. `endless`: it has to be ended. The token is in the command's
// argv, to know it in the process list, and in its output, to know whose that is.
import { kEatenBytes, kMemoryLimitBytes } from "../limits.mjs";

const exited = (exitCode = 0) => [{ kind: "exited", exitCode }];
const shell = (script, ...args) => ({ argv: ["sh", "-c", script, ...args] });

const fileName = (token) => token.replace(/\W/g, "-"); // not the pid: every sandbox has a 2

const simple = (name, weight, script, exitCode = 0) => ({
  name,
  weight,
  make: (_random, token) => ({
    input: shell(script, token),
    expected: exited(exitCode),
    output: `${token}\n`,
  }),
});

const endless = (name, weight, script) => ({
  name,
  weight,
  make: (_random, token) => ({ input: shell(script, token), expected: [], endless: true }),
});

export const kCommands = [
  {
    name: "true",
    weight: 6,
    make: (_random, token) => ({
      input: { argv: ["true", token] },
      expected: exited(),
      output: "",
    }),
  },
  {
    name: "echo",
    weight: 6,
    make: (_random, token) => ({
      input: { argv: ["echo", token] },
      expected: exited(),
      output: `${token}\n`,
    }),
  },
  simple("exit code", 3, 'echo "$0"; exit 7', 7),
  {
    name: "sleep",
    weight: 8,
    make: (random, token) => ({
      input: shell('sleep "$1"; echo "$0"', token, `0.${random.int(0, 40)}`),
      expected: exited(),
      output: `${token}\n`,
    }),
  },
  simple("background", 4, '(setsid sleep 1000 &) & sleep 1000 & echo "$0"; exit 3', 3),
  simple("double fork", 4, '(setsid sh -c "sleep 1000 & exec sleep 1000" &); echo "$0"'),
  simple(
    "forks",
    2,
    'i=0; while [ $i -lt 24 ]; do sleep 1000 & i=$((i+1)); done; echo "$0"; exit 1',
    1,
  ),
  {
    name: "kills itself",
    weight: 2,
    make: (_random, token) => ({
      input: shell("sleep 1000 & kill -KILL $$", token),
      expected: [{ kind: "signaled", signal: "SIGKILL" }],
      output: "",
    }),
  },
  {
    name: "flood",
    weight: 3,
    make: (random, token) => {
      const bytes = random.int(0, 4 * 2 ** 20);
      const maxStdoutBytes = random.int(0, 2 ** 20);
      const script = 'head -c "$1" /dev/zero; head -c "$1" /dev/zero >&2; exit 2';
      return {
        input: { ...shell(script, token, String(bytes)), limits: { maxStdoutBytes } },
        expected: exited(2),
        bytes,
      };
    },
  },
  endless("endless flood", 3, 'exec yes "$0"'),
  endless("ignores signals", 3, "trap '' TERM HUP INT QUIT; while :; do sleep 0.05; done"),
  endless("stops itself", 2, "sleep 1000 & kill -STOP $!; kill -STOP $$"),
  endless("sleeps on", 3, "sleep 1000 & (setsid sleep 1000 &); sleep 1000"),
  {
    name: "input",
    weight: 3,
    make: (random, token) => {
      const output = `${token}\n`.repeat(random.int(1, 4000));
      return {
        input: { ...shell("cat", token), stdin: Buffer.from(output) },
        expected: exited(),
        output,
      };
    },
  },
  {
    name: "input not read",
    weight: 2,
    make: (random, token) => ({
      input: { argv: ["true", token], stdin: new Uint8Array(random.int(1, 300_000)) },
      expected: exited(),
      output: "",
    }),
  },
  {
    name: "big order",
    weight: 2,
    make: (random, token) => {
      const size = random.int(10_000, 120_000);
      const text = "x".repeat(size);
      return {
        input: {
          ...shell('echo "$0"; printf %s "$1$CHAOS_BIG" | wc -c', token, text),
          env: { CHAOS_BIG: text },
        },
        expected: exited(),
        output: `${token}\n${2 * size}\n`,
      };
    },
  },
  {
    name: "eats memory",
    weight: 1,
    make: (_random, token) => ({
      input: {
        ...shell('head -c "$1" /dev/zero | tail -n 1 >&2', token, String(kEatenBytes)),
        limits: { memoryBytes: kMemoryLimitBytes },
      },
      // tail is refused the memory, or a cgroup's limit ends it.
      expected: [...exited(1), { kind: "limit-exceeded", limit: "memoryBytes" }],
      output: "",
    }),
  },
  {
    name: "large file",
    weight: 1,
    make: (_random, token) => ({
      input: {
        ...shell('exec head -c 100000 /dev/zero > "$1"', token, `large-${fileName(token)}`),
        limits: { maxFileBytes: 1000 },
      },
      expected: [{ kind: "limit-exceeded", limit: "maxFileBytes" }],
      output: "",
    }),
  },
  {
    name: "writes",
    weight: 3,
    make: (_random, token) => ({
      input: shell('echo "$0" > "$1" && cat "$1" && rm "$1"', token, `written-${fileName(token)}`),
      expected: exited(),
      output: `${token}\n`,
    }),
  },
  {
    name: "generation",
    weight: 4,
    make: (_random, token, { generation }) => ({
      input: shell("cat generation", token),
      expected: exited(),
      output: `${generation}\n`,
    }),
  },
  {
    name: "not found",
    weight: 2,
    make: (_random, token) => ({
      input: { argv: ["no-such-command", token] },
      expected: [{ kind: "not-found" }],
      output: "",
    }),
  },
  {
    name: "not executable",
    weight: 1,
    make: (_random, token) => ({
      input: { argv: ["/etc", token] },
      expected: [{ kind: "not-executable" }],
      output: "",
    }),
  },
];
