// The catalogue of commands that are spoken with (spawn, and a session's start), bounded as those of
// commands.mjs are. `make(random, token)` returns the input, what is to be expected as there, and
//   reads     "at once"; "late", after the end; or "never"
//   drive     async, speaks with it: { process, started, write(text), until(text) }; see live-call.mjs
//   endsBy    "stop": drive() calls stop(), so that the outcome is "aborted"
import { setTimeout as delay } from "node:timers/promises";

const exited = (exitCode = 0) => [{ kind: "exited", exitCode }];
const shell = (script, ...args) => ({ argv: ["sh", "-c", script, ...args] });

const kMostUnread = 60_000; // what a pipe alone takes

function sizeOf(random) {
  return { cols: random.int(1, 300), rows: random.int(1, 100) };
}

const idle = "while :; do sleep 0.02; done";

/** `make` returns { script, ... }; its defaults are those of a command that is read and exits with 0. */
const spoken = (name, weight, make) => ({
  name,
  weight,
  make(random, token) {
    const { script, args = [], pty, ...more } = make(random, token);
    const terminal = pty ? { pty: sizeOf(random) } : {};
    return {
      input: { ...shell(script, token, ...args), ...terminal },
      expected: exited(),
      reads: "at once",
      drive: async () => {},
      ...more,
    };
  },
});

export const kLiveCommands = [
  spoken("talks", 4, (random, token) => {
    const lines = Array.from({ length: random.int(0, 8) }, (_, i) => `line ${i}`);
    return {
      script: 'while read -r line; do echo "$0 $line"; done; exit 3',
      expected: exited(3),
      output: lines.map((line) => `${token} ${line}\n`).join(""),
      async drive({ process, write, until }) {
        let answers = "";
        for (const line of lines) {
          answers += `${token} ${line}\n`;
          void write(`${line}\n`);
          await until(answers);
        }
        process.stdin.end();
      },
    };
  }),
  spoken("takes much input", 3, (random, token) => {
    const pieces = Array.from({ length: random.int(0, 6) }, (_, i) =>
      `${token} ${i}\n`.repeat(random.int(1, 3000)),
    );
    return {
      script: "cat",
      output: pieces.join(""),
      async drive({ process, write }) {
        for (const piece of pieces) {
          const answered = write(piece);
          if (random.chance(0.5)) await answered;
        }
        process.stdin.end();
      },
    };
  }),
  spoken("reads no input", 2, (random) => ({
    script: random.pick([":", "exec <&-; sleep 0.02"]),
    output: "",
    async drive({ process, write }) {
      void write("x".repeat(random.int(1, 300_000)));
      if (random.chance(0.3)) process.stdin.destroy();
    },
  })),
  spoken("unread until its end", 3, (random) => {
    const bytes = random.int(0, kMostUnread);
    return { script: 'exec head -c "$1" /dev/zero', args: [String(bytes)], bytes, reads: "late" };
  }),
  spoken("is held up", 3, (random) => ({
    script: 'yes "$0" >&2 & exec yes "$0"',
    expected: [{ kind: "aborted", exitCode: 130 }],
    reads: "never",
    endsBy: "stop",
    async drive({ process }) {
      await delay(random.int(0, 100));
      await process.stop();
    },
  })),
  spoken("nobody will read", 2, () => ({
    script: 'exec yes "$0"',
    expected: [{ kind: "signaled", signal: "SIGPIPE", exitCode: 141 }],
    reads: "never",
    async drive({ process }) {
      process.stdout.destroy();
    },
  })),
  spoken("catches a signal", 3, (random, token) => ({
    script: `trap 'echo "$0"; exit 6' TERM HUP; echo ready; ${idle}`,
    expected: exited(6),
    output: `ready\n${token}\n`,
    async drive({ process, until }) {
      await until("ready\n");
      process.signal(random.pick(["SIGTERM", "SIGHUP"]));
    },
  })),
  spoken("a signal ends it", 3, (random) => {
    const signal = random.pick(["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP"]);
    return {
      script: "echo ready; exec sleep 1000",
      expected: [{ kind: "signaled", signal }],
      output: "ready\n",
      async drive({ process, until }) {
        await until("ready\n");
        process.signal(signal);
      },
    };
  }),
  spoken("stopped twice over", 2, (random) => ({
    script: "(setsid sleep 1000 &); sleep 1000 & sleep 1000",
    expected: [{ kind: "aborted", exitCode: 130 }],
    output: "",
    endsBy: "stop",
    async drive({ process }) {
      process.signal("SIGSTOP");
      await delay(random.int(0, 30));
      const [one, other] = await Promise.all([process.stop(), process.stop()]);
      if (one !== other) throw new Error("two results");
    },
  })),
  spoken("terminal", 4, (_random, token) => ({
    script: 'read line; echo "$0 $line"; exit 4',
    pty: true,
    expected: exited(4),
    output: `hello\r\n${token} hello\r\n`,
    async drive({ write }) {
      void write("hello\n");
    },
  })),
  spoken("terminal's size", 3, (random) => {
    // Never the one that it has: that would be no change, and no signal.
    const size = { cols: random.int(301, 999), rows: random.int(101, 999) };
    return {
      script: `trap 'stty size; exit 5' WINCH; echo ready; ${idle}`,
      pty: true,
      expected: exited(5),
      output: `ready\r\n${size.rows} ${size.cols}\r\n`,
      async drive({ process, until }) {
        await until("ready\r\n");
        process.resize(size);
      },
    };
  }),
  spoken("terminal's ^C", 3, (_random, token) => ({
    script: `trap 'echo "$0"; exit 8' INT; echo ready; ${idle}`,
    pty: true,
    expected: exited(8),
    output: `ready\r\n^C${token}\r\n`,
    async drive({ write, until }) {
      await until("ready\r\n");
      void write("\x03");
    },
  })),
  spoken("terminal's ^D", 3, (_random, token) => ({
    script: 'cat; echo "$0"',
    pty: true,
    output: `a\r\na\r\n${token}\r\n`,
    async drive({ write, until }) {
      void write("a\n");
      await until("a\r\na\r\n");
      void write("\x04");
    },
  })),
  spoken("terminal flood", 2, (random) => {
    const bytes = random.int(0, 300_000);
    return { script: 'exec head -c "$1" /dev/zero', args: [String(bytes)], pty: true, bytes };
  }),
  spoken("terminal left behind", 3, (_random, token) => ({
    script: '(setsid sleep 1000 &); sleep 1000 & echo "$0"; exit 2',
    pty: true,
    expected: exited(2),
    output: `${token}\r\n`,
  })),
];
