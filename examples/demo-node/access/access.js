import { quoted } from "../terminal/visible-text.js";
import { deniedText, grantText, wantedText } from "./denied-text.js";
import { canGive, reaches } from "./granted.js";

/**
 * @typedef {import("@openagentic/native-runner").Denial} Denial
 * @typedef {import("@openagentic/native-runner").Grant} Grant
 * @typedef {import("../network/consent.js").Ask} Ask
 * @typedef {"once" | "session" | "denied"} Answer
 * @typedef {{ command: string, denial: Denial, grant: Grant, answer: Answer }} Decision
 */

/** Denials of one command that the model is told. */
const kMaxTold = 10;
/** Of all commands, those that can still be asked for. */
const kMaxOffered = 500;
/** Characters of a grant that a person can be expected to read; a longer one is not asked for. */
const kMaxShown = 500;
const kMaxCommand = 200;
/** What has to be typed for what is not advised. */
const kAnyway = "expose";

/**
 * What commands were denied, and what the person at the terminal has granted of it. A grant is the one
 * that the denial came with, to the letter: neither the model nor the command can word one.
 */
export class Access {
  /** @type {Map<string, { command: string, denial: Denial, grant: Grant }>} */
  #offered = new Map();
  /** @type {Grant[]} */
  #session = [];
  /** @type {Map<string, Grant[]>} of the next run of a command */
  #once = new Map();
  /** @type {Set<string>} grants that were asked for in vain, for one command each */
  #refused = new Set();
  #last = 0;
  #record;
  #closed;

  /**
   * @param {readonly string[]} closed host paths that no grant may reach
   * @param {(decision: Decision) => Promise<void>} [record] told of each answer before it has an effect:
   *   where it rejects, nothing is granted. The place for an audit log
   */
  constructor(closed, record = async () => {}) {
    this.#closed = closed;
    this.#record = record;
    /** @type {Ask | undefined} set while somebody sits at the terminal */
    this.ask = undefined;
  }

  /**
   * The grants under which a command is run now; those for one run are used up by it.
   * @param {string} command
   */
  take(command) {
    const once = this.#once.get(command) ?? [];
    this.#once.delete(command);
    return [...this.#session, ...once];
  }

  /**
   * What the model is told of a command's denials; nothing where there are none.
   * @param {string} command
   * @param {readonly Denial[]} denials
   * @param {number} omitted
   */
  tell(command, denials, omitted) {
    if (denials.length === 0) return "";
    const told = denials.slice(0, kMaxTold).map((denial) => this.#offer(command, denial));
    const more = omitted + denials.length - told.length;
    return deniedText(told, more, this.ask !== undefined);
  }

  /**
   * @param {string} command
   * @param {Denial} denial
   * @returns {import("./denied-text.js").Told}
   */
  #offer(command, denial) {
    this.#last += 1;
    const id = `D${this.#last}`;
    if (denial.grant?.option === "network.allow") return { id, denial, way: "asked-as-made" };
    const grant = denial.grant ?? anyway(denial);
    if (grant === undefined || !canGive(grant)) return { id, denial, way: "none" };
    if (reaches(grant, this.#closed)) return { id, denial, way: "closed" };
    if (grantText(grant).length > kMaxShown) return { id, denial, way: "none" };
    if (this.#refused.has(refusalOf(command, grant))) return { id, denial, way: "refused" };
    this.#offered.set(id, { command, denial, grant });
    const [oldest] = this.#offered.keys();
    if (this.#offered.size > kMaxOffered && oldest !== undefined) this.#offered.delete(oldest);
    return { id, denial, way: denial.grant === undefined ? "ask-anyway" : "ask" };
  }

  /**
   * Asks the person for what a denial needs, and tells the model what became of it.
   * @param {string} id of the denial
   * @param {AbortSignal} signal
   */
  async request(id, signal) {
    const offered = this.#offered.get(id);
    if (offered === undefined) return `[not asked: there is no denial ${quoted(id)} to ask for]`;
    const { command, denial, grant } = offered;
    const refusal = refusalOf(command, grant);
    if (this.#refused.has(refusal)) return "[denied: the user was asked already, and said no]";
    if (this.ask === undefined) return "[denied: nobody is there to be asked; go on without it]";
    const reply = signal.aborted ? "" : await this.ask(question(offered), signal);
    const answer = answerOf(reply, denial.grant !== undefined);
    await this.#record({ command, denial, grant, answer });
    if (answer === "denied") {
      this.#refused.add(refusal);
      return "[denied: the user said no; go on without it]";
    }
    this.#offered.delete(id);
    if (answer === "session") this.#session.push(grant);
    else this.#once.set(command, [...(this.#once.get(command) ?? []), grant]);
    return answer === "session"
      ? "[granted for this session: run the command again]"
      : "[granted for one run of the same command, to the letter: run it again]";
  }
}

/**
 * @param {string} command
 * @param {Grant} grant
 */
const refusalOf = (command, grant) => JSON.stringify([command, grant.option, grant.value]);

/**
 * What would let through what is not advised. It is offered for reading alone: what writes where the
 * host runs things is for the person's own shell.
 * @param {Denial} denial
 * @returns {Grant | undefined}
 */
function anyway({ by, kind, hostPath }) {
  if (by !== "bubblewrap" || hostPath === undefined) return undefined;
  if (kind !== "read" && kind !== "exec") return undefined;
  return { option: "mounts", value: { hostPath, mode: "ro" }, cli: "" };
}

/** @param {{ command: string, denial: Denial, grant: Grant }} offered */
function question({ command, denial, grant }) {
  const letters = [...command];
  const isLong = letters.length > kMaxCommand;
  const text = isLong ? letters.slice(0, kMaxCommand).join("") : command;
  const more = isLong ? ` (and ${letters.length - kMaxCommand} characters more)` : "";
  const asked = [
    `the command ${quoted(text)}${more}`,
    `was denied: ${wantedText(denial)}`,
    `the model asks for: ${grantText(grant)}`,
  ];
  return denial.grant === undefined
    ? `${asked.join("\n")}\nNOT ADVISED: ${denial.notAdvised ?? "no reason is known"}\ntype ${kAnyway} to allow it once, anything else denies it: `
    : `${asked.join("\n")}\nallow [o]nce, for this [s]ession, [d]eny? `;
}

/**
 * @param {string} reply
 * @param {boolean} isAdvised
 * @returns {Answer}
 */
function answerOf(reply, isAdvised) {
  const word = reply.trim().toLowerCase();
  if (!isAdvised) return word === kAnyway ? "once" : "denied";
  if (["o", "once"].includes(word)) return "once";
  return ["s", "session"].includes(word) ? "session" : "denied";
}
