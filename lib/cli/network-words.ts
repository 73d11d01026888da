import type { BubblewrapNetwork } from "../../types/public.js";

/** Rules in words; a mode as it is. Pure. */
export function rulesInWords(network: BubblewrapNetwork): string {
  if (typeof network !== "object") return network;
  const { allow = [], presets = [], deny = [], allowPrivate = [], onRequest } = network;
  const allowed = [...allow, ...presets.map((name) => `the preset ${name}`)];
  return [
    allowed.length === 0 ? "by domain: nothing" : `by domain: ${allowed.join(", ")}`,
    deny.length === 0 ? "" : `never ${deny.join(", ")}`,
    allowPrivate.length === 0 ? "" : `private addresses of ${allowPrivate.join(", ")}`,
    onRequest === undefined ? "" : "somebody is asked about the rest",
  ]
    .filter((text) => text !== "")
    .join("; ");
}
