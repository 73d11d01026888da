// What the channel of connections tells of each kind of run, and of a flood of refused names.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";

import { BubblewrapNativeRunner } from "../../../../dist/index.js";

const kConnection = "@openagentic/native-runner:connection";
const kRunEnd = "@openagentic/native-runner:run.end";

/** Runs `what` with a list that grows by the messages of both channels. */
async function listening(what) {
  const heard = [];
  const onConnection = ({ run, event, connection }) => heard.push({ run, event, connection });
  const onEnd = ({ run, audit }) => heard.push({ run, event: "run.end", audit });
  subscribe(kConnection, onConnection);
  subscribe(kRunEnd, onEnd);
  try {
    await what(heard);
    return heard;
  } finally {
    unsubscribe(kConnection, onConnection);
    unsubscribe(kRunEnd, onEnd);
  }
}

/** A question for the address of a name, as DNS has it over TCP; all are of one size, and so answers. */
function question(number) {
  const label = `q${String(number).padStart(5, "0")}`;
  const name = Buffer.from(`\x06${label}\x04test\0`, "latin1");
  const bytes = Buffer.alloc(2 + 12 + name.length + 4);
  bytes.writeUInt16BE(bytes.length - 2, 0);
  bytes.writeUInt16BE(number, 2);
  bytes.writeUInt16BE(0x0100, 4); // recursion is desired
  bytes.writeUInt16BE(1, 6); // one question
  name.copy(bytes, 14);
  bytes.writeUInt16BE(1, 14 + name.length); // A
  bytes.writeUInt16BE(1, 16 + name.length); // IN
  return bytes;
}

export const eventScenarios = {
  async eventsOfKinds({ shadowDir, rules, argv }) {
    const input = { argv: argv("a.test", "c.test") };
    const kinds = {
      cold: (runner) => runner.exec(input),
      batch: (runner) => runner.execBatch([input, input]),
      live: async (runner) => (await runner.spawn(input)).result,
      async session(runner) {
        const session = await runner.openSession();
        await session.exec(input);
        await session.exec(input);
        await session.close();
      },
      async transaction(runner) {
        const transaction = await runner.openTransaction({ directory: process.env.STATE });
        await transaction.exec(input);
        await transaction.discard();
      },
    };
    const said = {};
    for (const [name, start] of Object.entries(kinds)) {
      const runner = new BubblewrapNativeRunner({ shadowDir, network: rules, prewarm: 0 });
      said[name] = await listening(() => start(runner));
      await runner.close();
    }
    const runner = new BubblewrapNativeRunner({ shadowDir, network: rules, prewarm: 1 });
    await runner.warm();
    said.prewarmed = await listening(() => runner.exec(input));
    await runner.close();
    return said;
  },

  // 20,000 questions for names that are refused: `names` of them differ.
  async eventsOfFlood({ shadowDir, rules }) {
    const runner = new BubblewrapNativeRunner({ shadowDir, network: rules });
    const said = {};
    for (const names of [1, 20_000]) {
      const asked = Array.from({ length: 20_000 }, (_, number) => question(number % names));
      const questions = Buffer.concat(asked);
      writeFileSync(path.join(shadowDir, "questions"), questions);
      const ask = `exec 3<> /dev/tcp/127.0.0.1/53; cat questions >&3 & head -c ${questions.length} <&3 | wc -c`;
      let answered;
      const heard = await listening(async () => {
        const argv = ["bash", "-c", ask];
        const { stdoutText } = await runner.exec({ argv, limits: { timeoutMs: 120_000 } });
        answered = Number(stdoutText) / question(0).length;
      });
      const { audit } = heard.pop();
      said[names] = {
        answered,
        events: heard.length,
        isRefused: heard.every(({ event }) => event === "refused"),
        listed: audit.connections.length,
        counted: audit.connections.reduce((sum, { count }) => sum + count, 0),
        omitted: audit.connectionsOmitted ?? 0,
      };
    }
    await runner.close();
    return said;
  },

  // A command sends heads of 65 kB to its proxy on and on, while another run asks for 50 things.
  async floodOfHeads({ shadowDir, rules, reach }) {
    const flood = `
      head -c 65000 /dev/zero | tr '\\0' x > /tmp/long
      one() {
        exec 3<> /dev/tcp/127.0.0.1/\${http_proxy##*:}
        { printf 'GET http://b.test/ HTTP/1.1\\r\\nHost: b.test\\r\\nX: '; cat /tmp/long; printf '\\r\\n\\r\\n'; } >&3
        head -n 1 <&3
      }
      while :; do for i in {1..32}; do one & done; wait; done 2> /tmp/errors`;
    const flooding = new BubblewrapNativeRunner({ shadowDir, network: rules, prewarm: 0 });
    const other = new BubblewrapNativeRunner({ shadowDir, network: rules, prewarm: 0 });
    const flooder = await flooding.spawn({ argv: ["bash", "-c", flood] });
    let answers = "";
    flooder.stdout.on("data", (chunk) => {
      answers += chunk;
    });
    await once(flooder.stdout, "data");
    const before = answers.length;
    const asked = `for i in {1..50}; do (${reach("a.test")}) || exit; done`;
    const { exitCode, stdoutText } = await other.exec({ argv: ["bash", "-c", asked] });
    await once(flooder.stdout, "data"); // it goes on
    flooder.signal("SIGKILL");
    await flooder.result;
    await Promise.all([flooding.close(), other.close()]);
    const lines = answers.slice(before).split("\r\n");
    return { exitCode, answered: stdoutText.split("\n").length - 1, flood: [...new Set(lines)] };
  },
};
