/** What a platform can do, check by check: a line of JSON for each, for scripts/platforms to read. */

const kPatienceMs = 60_000;

export class Report {
  /** @param slow how many times as long as on a machine of its own anything may take. */
  constructor(slow) {
    this.slow = slow;
    this.failed = 0;
    this.passed = 0;
  }

  /**
   * Runs one check. What the package says that this platform can't have (ERR_SANDBOX_UNAVAILABLE) is
   * left out, with its reason: whether that is as expected is for the caller to say.
   * @param body may resolve with a note for the table.
   */
  async check(name, body) {
    const begun = performance.now();
    let timer;
    const late = new Promise((_, reject) => {
      const say = () => reject(new Error("it has not ended"));
      timer = setTimeout(say, kPatienceMs * this.slow);
    });
    try {
      const note = await Promise.race([body(), late]);
      this.passed += 1;
      this.#say({ name, result: "passed", note: note ?? "" }, begun);
      return true;
    } catch (error) {
      const isLeftOut = error?.code === "ERR_SANDBOX_UNAVAILABLE";
      if (!isLeftOut) this.failed += 1;
      const note = String(error?.message ?? error);
      this.#say({ name, result: isLeftOut ? "left out" : "failed", note }, begun);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  #say(line, begun) {
    const ms = Math.round(performance.now() - begun);
    process.stdout.write(`${JSON.stringify({ ...line, ms })}\n`);
  }
}
