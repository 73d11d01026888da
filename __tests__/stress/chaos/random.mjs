// Random decisions that a seed repeats. Every process, thread and lane draws from a stream of its
// own, so that what one of them decides does not hang on how fast another is.
import { createHash } from "node:crypto";

export class Random {
  #stream;
  #drawn = 0;

  /** Equal words give the same stream. */
  constructor(...words) {
    this.#stream = words.join("/");
  }

  /** In [0, 1). */
  fraction() {
    const drawn = createHash("sha256")
      .update(`${this.#stream} ${this.#drawn++}`)
      .digest();
    return drawn.readUInt32LE() / 2 ** 32;
  }

  /** An integer from `least` on, below `end`. */
  int(least, end) {
    return least + Math.floor(this.fraction() * (end - least));
  }

  chance(share) {
    return this.fraction() < share;
  }

  pick(list) {
    return list[this.int(0, list.length)];
  }

  /** One of a list of objects, as often as its `weight` says. */
  weighted(list) {
    let left = this.fraction() * list.reduce((sum, { weight }) => sum + weight, 0);
    for (const each of list) {
      left -= each.weight;
      if (left < 0) return each;
    }
    return list.at(-1);
  }
}
