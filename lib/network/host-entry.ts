import { isIP } from "node:net";
import { domainToASCII } from "node:url";

const kParts = /^(\*\.)?(.*?)(:\d*)?$/su;
/** Beside what IDNA is about, the characters of a plain name: all else the addon is to refuse as it is. */
const kMaybeName = /^[-._A-Za-z0-9\u{80}-\u{10ffff}]+$/u;
const kAscii = /^[\0-\x7f]*$/;

/**
 * An entry of a list of hosts with an international name as its A-labels, which is what programs ask
 * for. Anything else as it is: the addon knows what is a name, and says what is none. Pure.
 */
export function inAscii(entry: unknown): unknown {
  if (typeof entry !== "string" || kAscii.test(entry)) return entry;
  const [, wildcard = "", name = "", port = ""] = kParts.exec(entry) ?? [];
  if (!kMaybeName.test(name)) return entry;
  const ascii = domainToASCII(name);
  return ascii === "" || isIP(ascii) !== 0 ? entry : `${wildcard}${ascii}${port}`;
}
