/** Finds and unpacks images, and removes what was unpacked, on a thread of their own: the host's loop goes on meanwhile. */

import { Worker } from "node:worker_threads";

import { ImageError } from "../errors.js";
import { loadAddon } from "../native.js";
import { builtFile } from "../package-root.js";

/** Mebibytes that the thread may have: a million entries with long names take less. */
const kMostMb = 2048;

/** Which image is meant. */
export type ImageChoice = {
  /** The path of an OCI layout, of the archive of one, or of an archive of `docker save`; both also compressed by gzip. */
  image: string;
  /**
   * Which of several images: the name that the layout has for it (`org.opencontainers.image.ref.name`, often "latest"), or of
   * an archive of `docker save` "NAME:TAG". Default: the only one.
   */
  tag?: string | undefined;
  /** The digest of its manifest, or of an index of manifests ("sha256:…"); of `docker save` that of its configuration. */
  digest?: string | undefined;
  /** Which of an index for several machines. Default: "linux" and the architecture of this process, in the words of Go. */
  platform?:
    | { os?: string | undefined; architecture?: string | undefined; variant?: string | undefined }
    | undefined;
};

/** The most that an image may have. */
export type ImageLimits = {
  /** Bytes of all files of all layers, and of all layers as archives; holes count. Default 16 GiB. */
  maxBytes: number;
  /** Entries of all layers. Default 1,000,000. */
  maxEntries: number;
  /** Default 500. */
  maxLayers: number;
  /** Bytes of a path in the image. Default 4095; with the path of the tree before it, Linux takes 4095. */
  maxPathBytes: number;
};

/** The image's own settings for its commands. */
export type ImageConfig = {
  /** Variables. */
  env: Record<string, string>;
  /** PATH among them. */
  path: string | undefined;
  workingDirectory: string | undefined;
  entrypoint: string[] | undefined;
  command: string[] | undefined;
  /** "USER[:GROUP]", by name or number; the files do not belong to that one. */
  user: string | undefined;
};

/** What an ordinary user's tree does not have of an image. */
export type LeftOut = {
  /** Devices, and hard links to them. */
  devices: number;
  /** Entries with the attribute security.capability; they are there without it. */
  capabilities: number;
  /** Files whose setuid or setgid bit was taken away. */
  setIds: number;
};

/** An image that was found: where its layers are. */
export type FoundImage = {
  digest: string;
  /** Identifies the contents of all layers together, whatever they are compressed by. */
  chain: string;
  config: ImageConfig;
  layers: {
    part: { file: string; start: number; size: number; digest?: string | undefined };
    diffId: string;
  }[];
};

/** The size of an unpacked tree: bytes of files, holes counted, and entries. */
export type Unpacked = { bytes: number; entries: number; leftOut: LeftOut };

/** What the thread does. `directory`: of "find" an empty one to work in, of "unpack" one that is made. */
export type Job =
  | { kind: "find"; choice: ImageChoice; directory: string; limits: ImageLimits }
  | { kind: "unpack"; layers: FoundImage["layers"]; directory: string; limits: ImageLimits }
  | { kind: "remove"; paths: string[] };

/** Why a job was not done; the code and fix of an ImageError, or the code of another one. */
type Failure = {
  isImageError: boolean;
  message: string;
  code: string | undefined;
  fix: string | undefined;
};

/** What the thread answers: the result of a job, or the wish for a FIFO. */
export type JobAnswer =
  | { found: FoundImage }
  | { unpacked: Unpacked }
  | { removed: true }
  | { makeFifo: Uint8Array; mode: number }
  | { failure: Failure };

type Settle = { resolve: (answer: JobAnswer) => void; reject: (error: unknown) => void };

/** A thread for the jobs of one caller, one at a time. */
export class UnpackThread {
  readonly #worker: Worker;
  readonly #signal: AbortSignal | undefined;
  #waiting: Settle | undefined;
  readonly #stop = () => {
    this.#waiting?.reject(this.#signal?.reason);
    this.#waiting = undefined;
    void this.#worker.terminate();
  };

  /** Aborted, it ends what it does; what it has made stays. */
  constructor(signal?: AbortSignal) {
    signal?.throwIfAborted();
    this.#signal = signal;
    this.#worker = new Worker(builtFile("image/thread.js"), {
      name: "native-runner-image",
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: kMostMb },
    });
    this.#worker.on("message", (answer: JobAnswer) => this.#take(answer));
    this.#worker.on("error", (error) => this.#waiting?.reject(asImageError(error)));
    this.#worker.on("exit", () => {
      this.#waiting?.reject(new Error("the thread of images has ended"));
    });
    signal?.addEventListener("abort", this.#stop, { once: true });
  }

  /** @throws (rejects) ImageError, errors of Node's file system, the reason of the signal. */
  async find(choice: ImageChoice, directory: string, limits: ImageLimits): Promise<FoundImage> {
    const answer = await this.#ask({ kind: "find", choice, directory, limits });
    return (answer as { found: FoundImage }).found;
  }

  /** Unpacks into a directory that it makes. @throws (rejects) like {@link find}. */
  async unpack({ layers }: FoundImage, directory: string, limits: ImageLimits): Promise<Unpacked> {
    const answer = await this.#ask({ kind: "unpack", layers, directory, limits });
    return (answer as { unpacked: Unpacked }).unpacked;
  }

  /** Removes files and directories, whatever their modes are. @throws (rejects) errors of Node's file system. */
  async remove(paths: readonly string[]): Promise<void> {
    if (paths.length > 0) await this.#ask({ kind: "remove", paths: [...paths] });
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#signal?.removeEventListener("abort", this.#stop);
    await this.#worker.terminate();
  }

  #ask(job: Job): Promise<JobAnswer> {
    if (this.#signal?.aborted) return Promise.reject(this.#signal.reason);
    return new Promise<JobAnswer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#worker.postMessage(job);
    });
  }

  #take(answer: JobAnswer): void {
    if ("makeFifo" in answer) {
      let fifo: string | undefined;
      try {
        loadAddon().makeFifo(answer.makeFifo, answer.mode);
      } catch (error) {
        fifo = (error as Error).message;
      }
      this.#worker.postMessage({ fifo });
      return;
    }
    const settle = this.#waiting;
    this.#waiting = undefined;
    if ("failure" in answer) settle?.reject(failureOf(answer.failure));
    else settle?.resolve(answer);
  }
}

function failureOf({ isImageError, message, code, fix }: Failure): Error {
  if (isImageError) return new ImageError(message, { code: code as ImageError["code"], fix });
  if (code !== "ENOSPC" && code !== "EDQUOT") return Object.assign(new Error(message), { code });
  return new ImageError(`there is no room for the image: ${message}`, {
    code: "ERR_IMAGE_STORE",
    fix: "`native-runner image prune` removes images that nobody uses; or set XDG_STATE_HOME to a larger disk",
  });
}

function asImageError(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== "ERR_WORKER_OUT_OF_MEMORY") return error;
  const message = `the image needs more than ${kMostMb} MiB of memory to be unpacked`;
  return new ImageError(message, { code: "ERR_IMAGE_TOO_LARGE", cause: error });
}
