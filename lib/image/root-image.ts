/** The image that a runner has as its root file system: unpacked when the first sandbox needs it, kept until the runner closes. */

import { ImageError } from "../errors.js";
import { type UsedImage, useImage } from "./unpack-image.js";
import type { ImageConfig } from "./unpack-thread.js";

/** Where it is unpacked and what it says of itself, or why there is none. */
export type RootOfImage =
  | { directory: string; config: ImageConfig }
  | { failure: string; fix: string };

const kNotYet: RootOfImage = { failure: "the image of `root` is not unpacked yet", fix: "" };

/** A runner that nobody closes must not keep its image from being pruned for good. */
const abandoned = new FinalizationRegistry<UsedImage>((image) => image.release());

function failureOf(error: unknown): RootOfImage {
  const failure = error instanceof Error ? error.message : String(error);
  return { failure, fix: (error instanceof ImageError && error.fix) || "" };
}

/** One image for one runner: all of its sandboxes have the same, whatever its reference means later. */
export class RootImage {
  readonly #image: string;
  readonly #tag: string | undefined;
  #used: UsedImage | undefined;
  #state: RootOfImage = kNotYet;
  #unpacking: Promise<void> | undefined;
  readonly #ending = new AbortController();

  /** Does nothing yet. */
  constructor(image: string, tag: string | undefined) {
    this.#image = image;
    this.#tag = tag;
  }

  /** What is known now. */
  get state(): RootOfImage {
    return this.#state;
  }

  /**
   * Unpacks it unless that is done; undefined: nothing to wait for. Never rejects: the state says what went wrong, and a
   * later call tries again.
   * @param hasWaited the caller has waited for this already, and takes a failure.
   */
  ready(hasWaited: boolean): Promise<void> | undefined {
    if (this.#used !== undefined || this.#ending.signal.aborted) return undefined;
    if (this.#unpacking === undefined) {
      if (hasWaited && this.#state !== kNotYet) return undefined;
      this.#state = kNotYet;
      this.#unpacking = this.#unpack().finally(() => {
        this.#unpacking = undefined;
      });
    }
    return this.#unpacking;
  }

  async #unpack(): Promise<void> {
    const { signal } = this.#ending;
    try {
      const used = await useImage({ image: this.#image, tag: this.#tag }, { signal });
      if (signal.aborted) return used.release();
      this.#used = used;
      abandoned.register(this, used, this);
      this.#state = { directory: used.directory, config: used.config };
    } catch (error) {
      this.#state = failureOf(error);
    }
  }

  /** Ends the unpacking, and lets others prune it. No sandbox may be made after that. */
  async release(): Promise<void> {
    this.#ending.abort();
    await this.#unpacking;
    this.#state = kNotYet;
    this.#used?.release();
    this.#used = undefined;
    abandoned.unregister(this);
  }
}
