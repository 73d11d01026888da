// How many workers one broker carries: the control traffic of many workers, which is all that a broker has of them while
// commands run. Each beats to one caller twice a second, as docs/scale/README.md says, and is echoed; beats are as
// long as ours with four runs. Prints what the broker took for it.
//   node bench/scale/main.mjs [WORKERS...]        default 1000 2000 5000 10000; each for 15 seconds

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { openBroker } from "../subjects/broker.mjs";

const kMeasuredMs = 15_000;
const kWorkersOfCaller = 100;
const kHertz = 100; // of the kernel's times in /proc, sysconf(_SC_CLK_TCK)
const kSides = fileURLToPath(new URL("./sides.mjs", import.meta.url));

const counts = process.argv.slice(2).map(Number);
if (counts.some((count) => !Number.isInteger(count) || count < 1)) {
  console.error("usage: node bench/scale/main.mjs [WORKERS...]");
  process.exit(2);
}

function cpuSeconds(pid) {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .split(") ")[1]
    .split(" ")
    .slice(11);
  return (Number(user) + Number(system)) / kHertz;
}

const residentMiB = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function side(role, setup) {
  const child = fork(kSides, [], { serialization: "json" });
  child.send({ role, ...setup });
  await once(child, "message");
  return {
    async ask(what) {
      child.send(what);
      return (await once(child, "message"))[0];
    },
    async close() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

async function measure(workers) {
  const broker = await openBroker(["-c", fileURLToPath(new URL("./broker.conf", import.meta.url))]);
  const port = Number(new URL(broker.url).port);
  const callers = Math.ceil(workers / kWorkersOfCaller);
  const callersSide = await side("callers", { port, callers });
  const workersSide = await side("workers", { port, workers, callers });
  await sleep(3_000);
  await workersSide.ask("begin");
  const before = cpuSeconds(broker.pid);
  const from = performance.now();
  await sleep(kMeasuredMs);
  const seconds = (performance.now() - from) / 1e3;
  const cpu = ((cpuSeconds(broker.pid) - before) / seconds) * 100;
  const { beats, echoes, p50, p99, late } = await workersSide.ask("end");
  const memory = residentMiB(broker.pid);
  await workersSide.close();
  await callersSide.close();
  await broker.close();
  const rate = (beats + echoes) / seconds;
  console.log(
    [
      String(workers).padStart(7),
      `${rate.toFixed(0)} messages/s`.padStart(18),
      `${cpu.toFixed(0)} % of a core`.padStart(18),
      `${memory.toFixed(0)} MiB`.padStart(9),
      `echo p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`.padStart(34),
      `${late} of ${beats} later than 2 s`,
    ].join("  "),
  );
}

console.log(
  "workers, what the broker carries, its processor time and memory, how long a beat's echo takes",
);
for (const workers of counts.length > 0 ? counts : [1_000, 2_000, 5_000, 10_000]) {
  await measure(workers);
}
