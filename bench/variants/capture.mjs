/** Keeps the first `limit` bytes of a stream and counts the rest. */
export class Capture {
  #chunks = [];
  #kept = 0;
  #limit;
  total = 0;

  constructor(stream, limit) {
    this.#limit = limit;
    stream.on("data", (chunk) => this.#add(chunk));
  }

  #add(chunk) {
    this.total += chunk.length;
    const room = this.#limit - this.#kept;
    if (room <= 0) return;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  bytes() {
    const whole = new Uint8Array(this.#kept);
    let offset = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, offset);
      offset += chunk.length;
    }
    return whole;
  }
}
