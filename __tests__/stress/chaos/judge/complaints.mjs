// What was wrong: of each kind how often, and the first few in words.
const kShown = 10;

export class Complaints {
  #kinds = new Map();

  add(kind, text) {
    const of = this.#kinds.get(kind) ?? { kind, count: 0, texts: [] };
    this.#kinds.set(kind, of);
    of.count += 1;
    if (of.texts.length < kShown) of.texts.push(text);
  }

  /** { kind, count, texts } of each kind. */
  get all() {
    return [...this.#kinds.values()];
  }
}
