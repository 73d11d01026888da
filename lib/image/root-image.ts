/** The image that a runner has as its root file system: unpacked when the first sandbox needs it, kept until the runner closes. */

import { ImageError } from "../errors.js";
import { type UsedImage, useImage } from "./unpack-image.js";
import type { ImageConfig } from "./unpack-thread.js";

/** The option that names an image. */
type RootChoice = { image: string; tag?: string | undefined };

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

/** The images in use, by the options that name them: what derives from a runner has the runner's. */
const known = new WeakMap<object, RootImage>();

/**
 * One image for one runner and its transactions: all of their sandboxes have the same, whatever its reference means later.
 */
export class RootImage {
  readonly #choice: RootChoice;
  readonly #users = new Set<object>();
  #used: UsedImage | undefined;
  #state: RootOfImage = kNotYet;
  #unpacking: Promise<void> | undefined;
  readonly #ending = new AbortController();

  private constructor(choice: RootChoice) {
    this.#choice = choice;
  }

  /** Returns the image of an option; does nothing yet. @param choice the same object means the same image. */
  static of(choice: RootChoice): RootImage {
    const image = known.get(choice) ?? new RootImage(choice);
    known.set(choice, image);
    return image;
  }

  /** The image's directory, or the reason why there is none yet. */
  get state(): RootOfImage {
    return this.#state;
  }

  /**
   * Unpacks it unless that is done; undefined: nothing to wait for. Never rejects: the state says what went wrong, and a
   * later call tries again.
   * @param user keeps the image until it releases it.
   * @param hasWaited the caller has waited for this already, and takes a failure.
   */
  ready(user: object, hasWaited: boolean): Promise<void> | undefined {
    this.#users.add(user);
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
      const { image, tag } = this.#choice;
      const used = await useImage({ image, tag }, { signal });
      if (signal.aborted) return used.release();
      this.#used = used;
      abandoned.register(this, used, this);
      this.#state = { directory: used.directory, config: used.config };
    } catch (error) {
      this.#state = failureOf(error);
    }
  }

  /** Gives the image back. The last user ends the unpacking, and lets others prune it. */
  async release(user: object): Promise<void> {
    this.#users.delete(user);
    if (this.#users.size > 0) return;
    if (known.get(this.#choice) === this) known.delete(this.#choice);
    this.#ending.abort();
    await this.#unpacking;
    this.#state = kNotYet;
    this.#used?.release();
    this.#used = undefined;
    abandoned.unregister(this);
  }
}
