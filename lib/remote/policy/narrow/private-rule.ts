/** Entries of `allowPrivate`: hosts without a port, or blocks of addresses. */

import { BlockList, isIP, isIPv4 } from "node:net";

import { patternsAbove, readHostRule } from "./host-rule.js";

/** A block of addresses; one address is a block of its own. */
type Block = { address: string; length: number; family: "ipv4" | "ipv6" };

/** One entry, in one spelling. */
export type PrivateRule = { text: string; block?: Block; pattern?: string };

const kLength = /^(0|[1-9]\d{0,2})$/;

function subnet({ address, length, family }: Block): BlockList {
  const list = new BlockList();
  list.addSubnet(address, length, family);
  return list;
}

/** IPv6 addresses that are IPv4 ones: the addon takes them for those, so they have to be written as such. */
function isMapped(address: string): boolean {
  return new URL(`http://[${address}]`).hostname.startsWith("[::ffff:");
}

function readBlock(text: string): Block | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes("%")) return undefined;
  if (family === 6 && isMapped(address)) return undefined;
  const width = family === 4 ? 32 : 128;
  if (length !== undefined && (!kLength.test(length) || Number(length) > width)) return undefined;
  return {
    address: address.toLowerCase(),
    length: length === undefined ? width : Number(length),
    family: isIPv4(address) ? "ipv4" : "ipv6",
  };
}

/** Undefined for what is no entry; host bits that are set the addon refuses. */
export function readPrivateRule(entry: string): PrivateRule | undefined {
  const block = readBlock(entry);
  if (block !== undefined) return { text: entry.toLowerCase(), block };
  const rule = readHostRule(entry);
  if (rule === undefined || rule.port !== undefined) return undefined;
  return { text: rule.pattern, pattern: rule.pattern };
}

/** Where several entries together may lead. */
export class PrivatePlaces {
  readonly #patterns: ReadonlySet<string>;
  readonly #blocks: readonly { block: Block; list: BlockList }[];

  constructor(rules: readonly PrivateRule[]) {
    this.#patterns = new Set(rules.flatMap(({ pattern }) => pattern ?? []));
    this.#blocks = rules.flatMap(({ block }) => (block ? [{ block, list: subnet(block) }] : []));
  }

  /** Whether wherever the rule may lead, one of ours may lead for the same names. */
  covers({ block, pattern }: PrivateRule): boolean {
    if (pattern !== undefined) {
      return patternsAbove(pattern).some((wider) => this.#patterns.has(wider));
    }
    if (block === undefined) return false;
    return this.#blocks.some(({ block: wider, list }) => {
      if (wider.family !== block.family || wider.length > block.length) return false;
      return list.check(block.address, block.family);
    });
  }
}
