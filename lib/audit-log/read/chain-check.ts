/**
 * Tells from the order of records what was done to them. One line of what came before is remembered, and
 * what was amiss, so that what follows can say which it was: a line too many, too few, or another one.
 */

import type { AuditProblem } from "../../../types/audit-log.js";
import { kGenesis, type Link } from "../chain.js";
import { type Position, Problems } from "./problems.js";

/** What has to come next; `prev` undefined: the line before is damaged, and its hash not known. */
type Place = { seq: number; prev: string | undefined };

type Last = {
  at: Position;
  hash: string | undefined;
  /** What should have come in its place. */
  place: Place;
  problem: AuditProblem | undefined;
};

/** Beyond it, what is amiss is told, but no longer which of a pair of lines was moved. */
const kMostRemembered = 10_000;

const fits = ({ seq, prev }: Link, place: Place): boolean =>
  seq === place.seq && (place.prev === undefined || prev === place.prev);

const counted = (count: number) => (count === 1 ? "a record is" : `${count} records are`);

function remember(map: Map<string, AuditProblem>, hash: string, problem: AuditProblem): void {
  if (map.size < kMostRemembered) map.set(hash, problem);
}

/** Of one log, all its files. */
export class ChainCheck {
  readonly #problems: Problems;
  #next: Place = { seq: 0, prev: kGenesis };
  #last: Last | undefined;
  /** Lines too many, by their hash: one that is missed later was moved there. */
  readonly #strays = new Map<string, AuditProblem>();
  /** Records that are missing, by the hash of the last of them. */
  readonly #gaps = new Map<string, AuditProblem>();

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** A line that is no record, or whose bytes do not give its hash. */
  broken(kind: "changed" | "damaged", at: Position): void {
    const message =
      kind === "damaged" ? "this line is no record" : "this line was changed: it is not its hash's";
    const problem = this.#problems.add(kind, at, message);
    this.#last = { at, hash: undefined, place: this.#next, problem };
    this.#next = { seq: this.#next.seq + 1, prev: undefined };
  }

  /** `previous`: the file before, where the record says that it begins one. */
  take(link: Link, at: Position, previous: string | undefined): void {
    const place = this.#next;
    if (fits(link, place)) this.#advance(link, at, place, undefined);
    else if (this.#gaps.has(link.hash)) this.#cameLate(link, at);
    else if (this.#last !== undefined && fits(link, this.#last.place)) {
      this.#lastWasInserted(this.#last);
      this.#advance(link, at, this.#last.place, undefined);
    } else if (link.seq > place.seq) this.#missing(link, at, previous);
    else if (link.seq === place.seq) {
      const message = "the line before this one is not the record that it was chained to";
      this.#advance(link, at, place, this.#problems.add("rewritten", at, message));
    } else {
      const message = `record ${link.seq} does not belong here: ${place.seq} was due`;
      const problem = this.#problems.add("inserted", at, message);
      remember(this.#strays, link.hash, problem);
      this.#last = { at, hash: link.hash, place, problem };
    }
  }

  #advance(link: Link, at: Position, place: Place, problem: AuditProblem | undefined): void {
    this.#last = { at, hash: link.hash, place, problem };
    this.#next = { seq: link.seq + 1, prev: link.hash };
  }

  #cameLate(link: Link, at: Position): void {
    const problem = this.#gaps.get(link.hash);
    this.#gaps.delete(link.hash);
    if (problem === undefined) return;
    Problems.become(problem, "moved", at, `record ${link.seq} stands here, and belongs further up`);
  }

  #lastWasInserted({ at, hash, problem }: Last): void {
    const message = "this line was inserted: the records before and after it are each other's";
    if (problem !== undefined) Problems.become(problem, "inserted", at, message);
    const own = problem ?? this.#problems.add("inserted", at, message);
    if (hash !== undefined) remember(this.#strays, hash, own);
  }

  #missing(link: Link, at: Position, previous: string | undefined): void {
    const place = this.#next;
    const stray = this.#strays.get(link.prev);
    if (stray !== undefined && link.seq === place.seq + 1) {
      const message = `record ${place.seq} stands here, and belongs further down`;
      Problems.become(stray, "moved", stray, message);
      this.#advance(link, at, place, undefined);
      return;
    }
    const count = link.seq - place.seq;
    const what = count === 1 ? `record ${place.seq}` : `records ${place.seq} to ${link.seq - 1}`;
    const problem =
      previous === undefined
        ? this.#problems.add("deleted", at, `${counted(count)} missing before this one: ${what}`)
        : this.#problems.add(
            "missing-file",
            at,
            `the file before this one, ${previous}, is missing`,
          );
    remember(this.#gaps, link.prev, problem);
    this.#advance(link, at, place, problem);
  }
}
