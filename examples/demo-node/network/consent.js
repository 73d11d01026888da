import { plainLine } from "../terminal/plain-text.js";

/**
 * @typedef {import("@openagentic/native-runner").NetworkRequest} NetworkRequest
 * @typedef {(question: string, signal: AbortSignal) => Promise<string>} Ask
 */

const kMaxShown = 60;
const kAnswerWithinMs = 30_000;

/** @param {string[] | undefined} command as the tool starts it: bash -c SCRIPT */
function shown(command) {
  const text = plainLine(command?.at(-1) ?? "a command");
  return text.length > kMaxShown ? `${text.slice(0, kMaxShown - 1)}…` : text;
}

/**
 * Asks the person at the terminal what commands may reach, one question after the other, and remembers:
 * once, for this session, or for good. Where nobody can be asked, and for any other answer, it is a denial.
 */
export class Consent {
  #remembered;
  /** @type {Set<string>} "host:port" */
  #session = new Set();
  /** @type {Map<string, boolean>} whether a credential may be used, by its name */
  #credentials = new Map();
  /** What a command was denied it is not asked about again: programs try more than once. */
  #denied = new Set();
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  /** @param {Pick<import("./remembered.js").Remembered, "allow" | "add">} remembered */
  constructor(remembered) {
    this.#remembered = remembered;
    /** @type {Ask | undefined} set while somebody sits at the terminal */
    this.ask = undefined;
  }

  /** Whether anything is allowed without a question. */
  get mayAllow() {
    return this.#remembered.allow.length > 0;
  }

  /** @param {NetworkRequest} request */
  onRequest = async (request) => {
    const turn = this.#last.then(() => this.#decide(request));
    this.#last = turn.catch(() => {});
    return turn;
  };

  /**
   * The value of a credential, once the person has agreed to its use in this session: before it is first put into a
   * request. Where nobody can be asked it is not used. No command ever has it.
   * @param {{ name: string, hosts: readonly string[], value: string }} credential
   * @returns {Promise<string>}
   */
  async valueOf({ name, hosts, value }) {
    const turn = this.#last.then(async () => {
      if (this.#credentials.has(name) || this.ask === undefined) return;
      const question = `a command uses ${plainLine(name)} at ${plainLine(hosts.join(", "))}: allow it in this [s]ession, [d]eny? `;
      const answer = (await this.ask(question, AbortSignal.timeout(kAnswerWithinMs))).trim();
      this.#credentials.set(name, ["s", "session"].includes(answer.toLowerCase()));
    });
    this.#last = turn.catch(() => {});
    await turn;
    if (this.#credentials.get(name) === true) return value;
    throw new Error(`${name} may not be used`);
  }

  /**
   * @param {NetworkRequest} request
   * @returns {Promise<"allow" | "deny">}
   */
  async #decide({ host, port, command, signal }) {
    const name = `${host}:${port}`;
    if (this.#session.has(name) || this.#remembered.allow.includes(name)) return "allow";
    const once = JSON.stringify([name, command]);
    if (signal.aborted || this.ask === undefined || this.#denied.has(once)) return "deny";
    const question = `${shown(command)} wants ${plainLine(name)}: allow [o]nce, for this [s]ession, [a]lways, [d]eny? `;
    const answer = (await this.ask(question, signal)).trim().toLowerCase();
    if (["s", "session", "a", "always"].includes(answer)) this.#session.add(name);
    if (["a", "always"].includes(answer)) await this.#remembered.add(name);
    if (["o", "once"].includes(answer) || this.#session.has(name)) return "allow";
    this.#denied.add(once);
    return "deny";
  }
}
