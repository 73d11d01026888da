/** Hosts that no rule names: a person is asked while the command waits, where the client can do that. */

import type { NetworkAnswer, NetworkRequest } from "../../types/network.js";
import { visibleLine } from "../cli/transactions/visible-text.js";

/** Puts a question; resolves with whether the answer was an explicit yes. */
export type Asker = (question: string, label: string, signal: AbortSignal) => Promise<boolean>;

const kMostAnswers = 1000;

export class HostQuestions {
  readonly #answers = new Map<string, Promise<NetworkAnswer>>();
  readonly #askers = new Set<Asker>(); // of the connections; the last is asked

  /** Somebody who can be asked; what is returned takes it back. */
  add(asker: Asker): () => void {
    this.#askers.add(asker);
    return () => this.#askers.delete(asker);
  }

  /**
   * As `onRequest` of a network by domain. An answer holds for as long as the server lives.
   * @throws (rejects) where nobody can be asked, or answers: a denial for which a grant is named.
   */
  async decide({ host, port, signal }: NetworkRequest): Promise<NetworkAnswer> {
    const key = `${host}:${port}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const asker = [...this.#askers].at(-1);
    if (asker === undefined || this.#answers.size >= kMostAnswers) {
      throw new Error("nobody can be asked");
    }
    const question = `A command in the sandbox wants to reach ${visibleLine(host)} on port ${port}, which no rule allows.`;
    const answer = asker(question, "Allow this until the server ends", signal).then(
      (yes): NetworkAnswer => (yes ? "allow" : "deny"),
    );
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key)); // nobody has answered: it is asked again
    return answer;
  }
}
