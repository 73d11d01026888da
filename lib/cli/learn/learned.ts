/** What has been granted so far, and why. */

import type { Denial } from "../../../types/public.js";
import { visibleLine } from "../transactions/visible-text.js";
import { wantedOf } from "../why/why-text.js";
import type { LearnedGrant } from "./verdict.js";

/** A grant with the reasons for it, each a line. */
export type Learned = { grant: LearnedGrant; reasons: string[] };

/** Reasons that are kept of one grant. */
const kMostReasons = 4;

/** The same for grants that are the same. */
export function keyOf({ option, value }: LearnedGrant): string {
  if (option === "network.allow") return `host ${value}`;
  const { hostPath, guestPath = hostPath, mode } = value;
  return JSON.stringify([hostPath, guestPath, mode]);
}

/** "read /opt/inc/a.h, asked for by cc1 (openat, ENOENT)", on one line whatever the command chose. */
export function reasonOf(denial: Denial): string {
  const { operation, program, errno, count } = denial;
  const by = program === undefined ? "" : `, asked for by ${program}`;
  const details = [operation, errno, count > 1 ? `${count} times` : ""].filter(Boolean).join(", ");
  const text = visibleLine(`${wantedOf(denial)}${by} (${details})`);
  return text.replace(/[\u2028\u2029]/g, " ");
}

/** As options to paste, in an order in which no mount hides another. */
export function optionsOf(grants: readonly Learned[]): string[] {
  const depth = ({ grant }: Learned) =>
    grant.option === "mounts" ? (grant.value.guestPath ?? grant.value.hostPath).length : 0;
  const inOrder = [...grants].sort((one, other) => depth(one) - depth(other));
  return inOrder.map(({ grant }) => grant.cli).filter((cli) => cli !== "");
}

/** Grants in the order in which they were given. */
export class LearnedGrants {
  readonly #grants = new Map<string, Learned>();
  readonly #withdrawn = new Set<string>();

  constructor(before: readonly Learned[] = []) {
    for (const learned of before) this.#grants.set(keyOf(learned.grant), learned);
  }

  get all(): Learned[] {
    return [...this.#grants.values()];
  }

  /** Whether it is a new one; a writable mount takes the place of the read-only one. */
  add(grant: LearnedGrant, denial: Denial): boolean {
    const key = keyOf(grant);
    if (this.#withdrawn.has(key)) return false;
    const known = this.#grants.get(key);
    if (known !== undefined) {
      this.#tell(known, denial);
      return false;
    }
    const learned = { grant, reasons: this.#takeReadOnly(grant) };
    this.#tell(learned, denial);
    this.#grants.set(key, learned);
    return true;
  }

  /** Takes the grants of a host back: it leads nowhere that they would allow. True where there were any. */
  withdraw(host: string): boolean {
    const found = this.all.filter(
      ({ grant }) => grant.option === "network.allow" && grant.value.replace(/:\d+$/, "") === host,
    );
    for (const { grant } of found) {
      this.#grants.delete(keyOf(grant));
      this.#withdrawn.add(keyOf(grant));
    }
    return found.length > 0;
  }

  #tell({ reasons }: Learned, denial: Denial): void {
    const reason = reasonOf(denial);
    if (reasons.length < kMostReasons && !reasons.includes(reason)) reasons.push(reason);
  }

  #takeReadOnly(grant: LearnedGrant): string[] {
    if (grant.option !== "mounts" || grant.value.mode !== "rw") return [];
    const before = keyOf({ ...grant, value: { ...grant.value, mode: "ro" } });
    const reasons = this.#grants.get(before)?.reasons ?? [];
    this.#grants.delete(before);
    return reasons;
  }
}
