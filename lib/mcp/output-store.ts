/** What commands wrote, for clients that fetch it; the oldest goes when there is too much of it. */

import { partsOf, textOf } from "./text-parts.js";
import type { Link } from "./tool.js";

/** The longest text of one message: what clients read at once is bounded, to 10 MB by the SDK's. */
export const kMostPart = 1024 ** 2;

const kMostBytes = 64 * 1024 ** 2;
const kMostOutputs = 256;

export type Stream = "stdout" | "stderr" | "diff";

export const kOutputTemplate = "native-runner://output/{id}/{stream}/{part}";

type Kept = { id: number; stream: Stream; parts: Uint8Array[]; bytes: number };

export class OutputStore {
  readonly #kept = new Map<string, Kept>(); // the oldest first
  #bytes = 0;
  #last = 0;

  /** A number for a command, of which up to two streams are kept. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** Keeps one, and gives a link for each of its parts. */
  keep(id: number, stream: Stream, bytes: Uint8Array): Link[] {
    const kept = { id, stream, parts: partsOf(bytes, kMostPart), bytes: bytes.length };
    this.#kept.set(`${id}/${stream}`, kept);
    this.#bytes += bytes.length;
    for (const [key, oldest] of this.#kept) {
      const isOver = this.#bytes > kMostBytes || this.#kept.size > kMostOutputs;
      if (!isOver || this.#kept.size === 1) break;
      this.#kept.delete(key);
      this.#bytes -= oldest.bytes;
    }
    return linksOf(kept);
  }

  /** All that can be fetched. */
  links(): Link[] {
    return [...this.#kept.values()].flatMap(linksOf);
  }

  /** The text of a part; undefined where there is none any more. */
  read(id: string, stream: string, part: string): string | undefined {
    const bytes = this.#kept.get(`${id}/${stream}`)?.parts[Number(part)];
    return bytes && textOf(bytes);
  }
}

function linksOf({ id, stream, parts }: Kept): Link[] {
  return parts.map((part, index) => ({
    uri: `native-runner://output/${id}/${stream}/${index}`,
    name: `${stream === "diff" ? "diff" : `${stream} of command`} ${id}${parts.length === 1 ? "" : `, part ${index + 1} of ${parts.length}`}`,
    mimeType: "text/plain",
    size: part.length,
  }));
}
