// The native half of `npm run dev`: one build at a time. What has just been edited goes before
// everything else that is still to be built.
import { spawn } from "node:child_process";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { buildDirectory, root } from "../lib/project.mjs";
import { filterOf, programsOf, suitesNear } from "./native-rooms.mjs";

const kTests = ["policy_tests", "launcher_tests", "supervise_tests", "workspace_tests"];
const kAll = [...kTests, "native_runner", "launcher"];
const kSettleMs = 50; // an editor writes a file in more than one step

export class NativeLoop {
  #edited = new Set();
  #isBuilt = false;
  #isRunning = false;
  #child;

  /** Builds all of it, with low priority, so that the first edit finds only itself to be built. */
  start() {
    void this.#run();
  }

  /** A file, relative to the checkout, was written. */
  changed(file) {
    this.#edited.add(file);
    this.stop(); // what runs is out of date
    void this.#run();
  }

  stop() {
    this.#child?.kill("SIGTERM");
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#edited.size > 0 || !this.#isBuilt) {
      if (this.#edited.size > 0) await this.#test();
      else this.#isBuilt = await this.#buildAll();
    }
    this.#isRunning = false;
  }

  async #buildAll() {
    const start = performance.now();
    const ok = await this.#build(kAll, ["nice", "-n", "10"]);
    if (this.#edited.size > 0) return false;
    this.#say(ok ? "ready" : "does not build", start);
    return true; // until the next edit
  }

  async #test() {
    await delay(kSettleMs);
    const files = [...this.#edited];
    this.#edited.clear();
    this.#isBuilt = false;
    const start = performance.now();
    const near = filterOf([...new Set(files.flatMap(suitesNear))]);
    for (const program of new Set(files.flatMap(programsOf))) {
      if (!(await this.#build([program]))) return this.#say(`${program} does not build`, start);
      const nearest = near === "" || (await this.#execute(program, near));
      const ok = nearest && (await this.#execute(program, near === "" ? "*" : `-${near}`));
      if (this.#edited.size > 0) return undefined; // it starts anew
      this.#say(`${program} ${ok ? "ok" : "FAILED"}`, start);
      if (!ok) return undefined;
    }
    return undefined;
  }

  #build(targets, before = []) {
    const script = path.join(root, "scripts", "build.mjs");
    const words = [...before, process.execPath, script, "--native-only", "--preset", "debug"];
    return this.#spawn([...words, ...targets.flatMap((target) => ["--target", target])]);
  }

  #execute(program, filter) {
    const file = path.join(buildDirectory("debug"), "native", "tests", program);
    const flags = ["--gtest_brief=1", "--gtest_fail_fast", `--gtest_filter=${filter}`];
    return this.#spawn([file, ...flags]);
  }

  /** Resolves with whether it succeeded; its output goes where ours goes. */
  #spawn([file, ...args]) {
    return new Promise((resolve) => {
      this.#child = spawn(file, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
      this.#child.on("error", () => resolve(false));
      this.#child.on("close", (code) => {
        this.#child = undefined;
        resolve(code === 0);
      });
    });
  }

  #say(what, start) {
    if (this.#edited.size > 0) return;
    console.log(`native: ${what} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  }
}
