/** The way of a network's question to `onRequest`, and of its answer back. */

import type { OnNetworkQuestion } from "../../types/addon.js";
import type { NetworkByDomain } from "../../types/public.js";
import { loadAddon } from "../native.js";

type OnRequest = NonNullable<NetworkByDomain["onRequest"]>;

/**
 * `onRequest` as the addon calls it: it throws nothing, and what is no answer (an exception, a rejection,
 * another value) is said to be none, which is a denial. The time that an answer has is counted natively.
 */
export function askerOf(
  onRequest: OnRequest,
  answer: (question: number, said: "allow" | "deny" | "none") => void = (question, said) =>
    loadAddon().answerNetworkQuestion(question, said),
): OnNetworkQuestion {
  const open = new Map<number, AbortController>();
  return (id, question) => {
    if (question === undefined) {
      const gone = open.get(id);
      open.delete(id);
      gone?.abort();
      return;
    }
    const controller = new AbortController();
    open.set(id, controller);
    const settle = (said: unknown) => {
      if (open.delete(id)) answer(id, said === "allow" || said === "deny" ? said : "none");
    };
    const ask = async () => onRequest({ ...question, signal: controller.signal });
    ask().then(settle, () => settle(undefined));
  };
}
