// Whether this host keeps the bounds that take a cgroup v2, and `doctor` says so; or says why not.
//   node bounds.mjs kept|refused|no-weights|no-io
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { BubblewrapNativeRunner } from "../../../../dist/index.js";

const kCli = new URL("../../../../dist/cli/main.js", import.meta.url).pathname;
const kMebibyte = 2 ** 20;
const kSeconds = 8; // that two runs are beside each other
const kShares = [800, 100];
const kLeast = 2; // times as much for the larger share, of eight

const expected = process.argv[2];
const shadowDir = mkdtempSync(path.join(tmpdir(), "work-"));
const runner = new BubblewrapNativeRunner({ shadowDir, prewarm: 0 });
let failed = 0;

function check(what, is, seen) {
  if (!is) failed += 1;
  console.log(
    `${is ? "ok" : "FAILED"}: ${what}: ${typeof seen === "string" ? seen : JSON.stringify(seen)}`,
  );
}

async function run(script, limits) {
  const argv = ["bash", "-c", script];
  const made = await runner.exec({ argv, limits: { timeoutMs: 120_000, ...limits } });
  const { layers = [] } = made.audits[0];
  return { outcome: made.outcome, out: made.stdoutText, err: made.stderrText, layers };
}

const inGroup = ({ layers }) => layers.includes("cgroup");

/** How many times as much the first of two runs beside each other has got done, of which each prints the figure. */
async function ratio(script, limits) {
  const counted = (share) => run(script, limits(share));
  const [more, less] = (await Promise.all(kShares.map(counted))).map(({ out, outcome }) => {
    return outcome.kind === "exited" ? Number(out) : Number.NaN;
  });
  return { more, less, is: more >= kLeast * less };
}

async function checkKept(hasIo) {
  const eaten = await run("head -c 200M /dev/zero | tail -c 150M | wc -c", {
    memoryBytes: 64 * kMebibyte,
  });
  check(
    "memory of the whole tree",
    inGroup(eaten) && eaten.out.trim() !== String(150 * kMebibyte),
    eaten,
  );
  const forked = await run("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 2 & done; wait", {
    maxProcesses: 5,
  });
  check("processes", inGroup(forked) && forked.err.includes("fork"), forked);
  const cpu = await ratio(
    `end=$((SECONDS + ${kSeconds})); n=0
    while [ $SECONDS -lt $end ]; do for ((i = 0; i < 2000; i += 1)); do :; done; n=$((n + 1)); done; echo $n`,
    (cpuShare) => ({ cpuShare }),
  );
  check("cpuShare", cpu.is, cpu);
  if (!hasIo) return;
  // One program each, which always waits for the disk: dd says how many blocks it has written when it is interrupted.
  const io = await ratio(
    `fallocate -l 16M file$$
    timeout -s INT ${2 * kSeconds} dd if=/dev/zero of=file$$ bs=4k oflag=direct conv=notrunc 2>&1 | sed -n 's/+.*out$//p'`,
    (ioShare) => ({ ioShare }),
  );
  check("ioShare", io.is, io);
  const going = run("sleep 5", { ioShare: 300 });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const weights = leaves().flatMap((leaf) =>
    ["io.weight", "io.bfq.weight"].flatMap((name) => {
      const file = path.join(leaf, name);
      return existsSync(file) ? [readFileSync(file, "utf8").trim()] : [];
    }),
  );
  check(
    "ioShare's weight",
    weights.length > 0 && weights.every((each) => /\b300$/.test(each)),
    weights,
  );
  const { outcome, layers } = await going;
  check("ioShare's run", outcome.kind === "exited" && layers.includes("cgroup"), outcome);
}

/** The groups of runs that are there. */
function leaves() {
  const own = readFileSync("/proc/self/cgroup", "utf8").trim().replace("0::", "");
  const group = path.dirname(path.join("/sys/fs/cgroup", own));
  const names = readdirSync(group).filter((name) => /^native-runner-\d/.test(name));
  return names.map((name) => path.join(group, name));
}

async function checkRefused(limits, reason) {
  const { outcome } = await run("true", limits);
  check(
    `${Object.keys(limits)[0]} is refused`,
    outcome.kind === "setup-failed" && outcome.reason.includes(reason),
    outcome,
  );
}

function checkDoctor(wanted) {
  const { stdout, stderr } = spawnSync(process.execPath, [kCli, "doctor", "--json"], {
    encoding: "utf8",
  });
  let bounds;
  try {
    ({ bounds } = JSON.parse(stdout));
  } catch {
    return check("doctor", false, stderr.slice(-300));
  }
  for (const [name, isKept] of Object.entries(wanted)) {
    const row = bounds.find(({ limit }) => limit === name);
    check(
      `doctor says of ${name}`,
      row?.kept === isKept && (isKept ? row.by : row.fix) !== undefined,
      row,
    );
  }
}

console.log(`in ${readFileSync("/proc/self/cgroup", "utf8").trim()}`);
const isKept = expected !== "refused";
const hasIo = expected === "kept";
if (isKept) await checkKept(hasIo);
else await checkRefused({ cpuShare: 50 }, "no cgroup v2 with the cpu controller is delegated");
if (expected === "no-weights") await checkRefused({ ioShare: 50 }, "knows no weights");
if (expected === "no-io")
  await checkRefused({ ioShare: 50 }, "no cgroup v2 with the io controller");
const over = await run("head -c 9M /dev/zero > file; sleep 60", { writeBytes: 4 * kMebibyte });
check("writeBytes", over.outcome.limit === "writeBytes", over.outcome);
checkDoctor({ writeBytes: true, reserveBytes: true, cpuShare: isKept, ioShare: hasIo });
await runner.close();
console.log(`now in ${readFileSync("/proc/self/cgroup", "utf8").trim()}`);
process.exitCode = failed === 0 ? 0 : 1;
