// As root too: root's sandboxes have other ways out.
/** `network.hostPorts` with real services of the host and their own clients. */

import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { BubblewrapNativeRunner, type NetworkConnection } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { see } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { startPostgres, startRedis, whyNoPostgres, whyNoRedis } from "./host-services.js";

type Job = { script: string; ports: number[]; hostPorts: number[] };

/** Runs a script with $1, $2 for the ports. */
async function run({ script, ports, hostPorts }: Job) {
  const shadowDir = tempDirectory("host-ports");
  const runner = new BubblewrapNativeRunner({ shadowDir, network: { hostPorts }, prewarm: 0 });
  try {
    const argv = ["bash", "-c", script, "bash", ...ports.map(String)];
    const env = { LC_ALL: "C.UTF-8" };
    const result = await runner.exec({ argv, env, limits: { timeoutMs: kHungMs } });
    const connections: NetworkConnection[] = result.audits?.[0]?.connections ?? [];
    return { ...see(result), connections };
  } finally {
    await runner.close();
  }
}

describeUnless(whyNoBubblewrap ?? whyNoRedis, "Redis of the host", () => {
  test("serves redis-cli by the port that is named, and not without it", async () => {
    const [port, other] = [await startRedis(), await startRedis()];
    const script = `for host in 127.0.0.1 localhost ::1; do
  redis-cli -h $host -p $1 incr count
done
head -c 8000000 /dev/zero | tr '\\0' x | redis-cli -p $1 -x set large
redis-cli -p $1 get large | tr -d '\\n' | wc -c
seq 1 5000 | sed 's/.*/SET key& &/' | redis-cli -p $1 --pipe | tail -1
redis-cli -p $1 dbsize
redis-cli -p $2 ping 2>&1`;
    const seen = await run({ script, ports: [port, other], hostPorts: [port] });
    expect(seen.out.split("\n"), seen.err).toEqual([
      ...["1", "2", "3", "OK", "8000000", "errors: 0, replies: 5000", "5002"],
      `Could not connect to Redis at 127.0.0.1:${other}: Connection refused`,
    ]);
    expect(new Set(seen.connections.map(({ rule }) => rule))).toEqual(
      new Set([`127.0.0.1:${port}`]),
    );
    expect(seen.connections.reduce((sum, { bytesIn }) => sum + bytesIn, 0)).toBeGreaterThan(8e6);
    const both = await run({ script, ports: [port, other], hostPorts: [port, other] });
    expect(both.out).toMatch(/\nPONG$/);
  });
});

describeUnless(whyNoBubblewrap ?? whyNoPostgres, "PostgreSQL of the host", () => {
  test("serves psql by the port that is named, and not without it", async () => {
    const port = await startPostgres();
    const script = `say() { psql -h "$1" -p "$2" -U postgres -AtXq -c "$3"; }
say localhost $1 'create table t (n int, text text)'
seq 1 200000 | sed 's/.*/&,line & of many/' | psql -h 127.0.0.1 -p $1 -U postgres -Xq -c "copy t from stdin csv"
say ::1 $1 'select count(*), sum(n) from t'
say localhost $1 'copy t to stdout' | wc -l
for each in 1 2 3 4 5 6 7 8; do say localhost $1 'select pg_sleep(0.1), 1' & done | sort | uniq -c | tr -s ' '
wait`;
    const seen = await run({ script, ports: [port], hostPorts: [port] });
    expect(seen.err).toBe("");
    expect(seen.out.split("\n")).toEqual(["200000|20000100000", "200000", " 8 |1"]);
    expect(seen.connections).toHaveLength(12);
    for (const { via, reason } of seen.connections) {
      expect([via, reason]).toEqual(["host-port", undefined]);
    }
    const without = 'psql -h localhost -p $1 -U postgres -c "select 1" 2>&1';
    const none = await run({ script: without, ports: [port], hostPorts: [] });
    expect(none.out).toContain("Connection refused");
  });
});
