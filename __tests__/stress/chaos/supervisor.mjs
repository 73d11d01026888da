// The supervisor: runs hosts, strikes at them and their processes, and looks for what they leave. Its
// decisions follow one another in one loop, so that a seed repeats their order. It runs below a reaper
// (start.mjs), which is the parent of every process that loses its own.
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { tellStuckHost } from "./evidence/stuck-host.mjs";
import { HostProcess } from "./host/host-process.mjs";
import { Complaints } from "./judge/complaints.mjs";
import { leastOf } from "./judge/enough.mjs";
import { judge } from "./judge/judge.mjs";
import { now, readLedger } from "./judge/ledger.mjs";
import { Tally } from "./judge/tally.mjs";
import { kGoneMs, kGrowthBytes, kIdleThreads, kPlantedGoneMs } from "./limits.mjs";
import { Random } from "./random.mjs";
import { Pressure } from "./strikes/pressure.mjs";
import { Strays } from "./strikes/strays.mjs";
import { Strikes } from "./strikes/strikes.mjs";
import { Traces } from "./strikes/traces.mjs";

const kHosts = 2;
const kTickMs = [10, 120];
const kHostLifeMs = [1500, 9000];
const kCheckpointMs = 15_000;
const kMostTimes = 10; // of the minutes asked for, while a busy machine has not let it do enough
const kFates = ["kill", "leave", "kill", "finish"];
const kCalmFates = ["finish"];

export class Supervisor {
  complaints = new Complaints();
  tally = new Tally();
  #mark = randomUUID();
  #options;
  #random;
  #strikes;
  #strays;
  #traces;
  #pressure;
  #temp;
  #hosts = [];
  #made = 0;

  /** `directory`: an empty one for all files of this run. */
  constructor({ directory, ...options }) {
    this.#options = { directory, ...options };
    this.#random = new Random(options.seed, "supervisor");
    this.#temp = join(directory, "tmp");
    mkdirSync(this.#temp);
    const goneMs = options.hasFaults ? kPlantedGoneMs : kGoneMs;
    this.#traces = new Traces(this.#temp, goneMs);
    this.#strikes = new Strikes(this.#mark, this.#random);
    this.#strays = new Strays(this.#mark, goneMs, this.complaints);
    this.#pressure = new Pressure(new Random(options.seed, "pressure"));
  }

  #startHost() {
    const { seed, directory, hasFaults, hasStandstill, gigabytes } = this.#options;
    const name = `host-${++this.#made}`;
    const settings = { name, seed, gigabytes, mark: this.#mark, temp: this.#temp };
    const isFirst = this.#made === 1;
    const planted = { hasFaults: hasFaults && isFirst, hasStandstill: hasStandstill && isFirst };
    this.#hosts.push(
      new HostProcess({ ...settings, ...planted, directory: join(directory, name) }),
    );
  }

  async run() {
    const start = now();
    const asked = this.#options.minutes * 60_000;
    const lacksCalls = () => leastOf(this.tally) < this.#options.leastCalls;
    const goesOn = (lasted) => lasted < asked || (lasted < kMostTimes * asked && lacksCalls());
    let checkpoint = now() + kCheckpointMs;
    let hostEnd = now() + this.#random.int(...kHostLifeMs);
    while (goesOn(now() - start)) {
      while (this.#hosts.length < kHosts) this.#startHost();
      await delay(this.#random.int(...kTickMs));
      this.#look();
      if (!this.#options.hasStandstill) this.#strike(); // it could end what is planted
      if (now() > hostEnd) {
        await this.#endOne();
        hostEnd = now() + this.#random.int(...kHostLifeMs);
      }
      if (now() > checkpoint) {
        await this.#checkpoint(this.#hosts);
        for (const host of this.#hosts) host.resume();
        checkpoint = now() + kCheckpointMs;
      }
    }
    const hosts = [...this.#hosts];
    await this.#checkpoint(hosts);
    for (const host of hosts) await this.#end(host, "finish");
    await this.#pressure.end();
    await this.#strays.none([]);
    await this.#traces.none(this.complaints);
    this.tally.finish(this.#strikes.freezes, this.#pressure.count);
  }

  /** Now and then, one of the hosts' processes or a host itself. */
  #strike() {
    const host = this.#random.pick(this.#hosts);
    if (!host.isReady) return;
    if (this.#random.chance(0.6)) this.#strikes.strike(host);
    else if (this.#random.chance(0.02)) this.#strikes.freeze(host);
  }

  #look() {
    this.#strikes.look();
    this.#strays.look();
    this.#pressure.look();
    for (const host of this.#hosts.filter(({ isAlive }) => !isAlive)) this.#bury(host, undefined);
  }

  /** One host, in the way that is next. */
  async #endOne() {
    const host = this.#random.pick(this.#hosts);
    const { hasFaults, hasStandstill } = this.#options;
    const fates = hasFaults || hasStandstill ? kCalmFates : kFates; // what is planted must be seen
    const fate = fates[this.tally.hosts % fates.length];
    if (fate === "finish") await this.#checkpoint([host]);
    await this.#end(host, fate);
  }

  async #end(host, fate) {
    if (!this.#hosts.includes(host)) return; // it did not live through its checkpoint
    this.#strikes.look(true); // one that is frozen would not hear it, and nobody wakes it meanwhile
    const end = await host[fate]();
    this.#bury(host, end);
  }

  /** Judges a host that has ended: as it was told to, or by itself. */
  #bury(host, end) {
    this.#hosts.splice(this.#hosts.indexOf(host), 1);
    const isRight = host.fate === "killed" ? end?.signal === "SIGKILL" : end?.code === 0;
    const how = `${host.name}, ${host.fate}: ended with ${JSON.stringify(end) ?? "nothing"}`;
    if (!isRight) this.complaints.add("host", how);
    if (host.said !== "") this.complaints.add("host", `${host.name} said: ${host.said}`);
    const strikes = this.#strikes.all.filter((strike) => strike.host === host.name);
    const lines = readLedger(host.ledgerFile);
    judge({ lines, fate: host.fate, strikes }, this.complaints, this.tally.call);
    this.tally.addHost(host);
    for (const strike of strikes) this.tally.strike(strike);
  }

  /** All calls of these hosts come to their end; then nothing of them may be there. */
  async #checkpoint(hosts) {
    this.#strikes.look(true);
    const paused = await Promise.all(
      hosts.map(async (host) => {
        const vitals = (await host.ready()) && (await host.pause());
        return { host, vitals, stuck: vitals ? undefined : this.#tellStuck(host) };
      }),
    );
    await this.#strays.none(hosts.map(({ pid }) => pid));
    this.#strikes.look(true);
    await this.#traces.none(this.complaints);
    for (const { host, vitals, stuck } of paused) {
      if (!vitals) {
        this.complaints.add("host", `${host.name} did not come to rest\n${stuck}`);
        await host.kill();
        this.#bury(host, undefined);
      } else {
        this.#compare(host, vitals);
      }
    }
    this.tally.checkpoints += 1;
  }

  /** While all of it is still there; the stacks of all threads go into a file. */
  #tellStuck(host) {
    if (!host.isAlive) return "it has ended";
    const { text, stacks } = tellStuckHost(host, this.#mark);
    writeFileSync(join(this.#options.directory, `${host.name}.txt`), `${text}\n\n${stacks}\n`);
    return text;
  }

  #compare(host, { before, now: after }) {
    if (after.descriptors.length > before.descriptors.length) {
      const more = [...after.descriptors];
      for (const each of before.descriptors.filter((held) => more.includes(held))) {
        more.splice(more.indexOf(each), 1);
      }
      this.complaints.add("descriptors", `${host.name} holds more than before: ${more.join(", ")}`);
    }
    if (after.threads > before.threads + kIdleThreads) {
      this.complaints.add("threads", `${host.name} has ${after.threads}, had ${before.threads}`);
    }
    host.residentBytes ??= after.residentBytes; // the first time: what V8 needs for this work
    const growth = after.residentBytes - host.residentBytes;
    this.tally.growth(growth);
    if (growth > kGrowthBytes) {
      this.complaints.add(
        "memory",
        `${host.name} has grown by ${Math.round(growth / 2 ** 20)} MiB`,
      );
    }
  }
}
