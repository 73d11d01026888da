/** The built-in engine: the WebAssembly and node:wasi of the running Node. Has no requirements. */

import { type SkillAnswer, unreadable } from "../answer.js";
import { kPageBytes } from "../guest/module-limits.mjs";
import { answerOfGuest, guestProcess, maxAnswerBytes, requestMessage } from "../guest-process.js";
import { ModuleCache } from "../module-cache.js";
import type { SkillWorkers } from "../workers.js";
import type {
  EngineCommand,
  EngineEnd,
  EngineEnforcement,
  SkillEngine,
  SkillRequest,
} from "./engine.js";

/** See {@link SkillEngine}. Another engine runs components. */
export class NodeSkillEngine implements SkillEngine {
  readonly name = "node";
  readonly enforces: EngineEnforcement = {
    fuel: false,
    memory: true,
    time: false,
    wasi: true,
    components: false,
  };

  readonly #modules = new ModuleCache();
  readonly #workers: SkillWorkers;

  constructor(workers: SkillWorkers) {
    this.#workers = workers;
  }

  command(request: SkillRequest): EngineCommand {
    const { maxMemoryBytes, maxOutputBytes } = request.limits;
    const maxPages = Math.floor(maxMemoryBytes / kPageBytes);
    return guestProcess(
      "process.mjs",
      [`--wasm-max-mem-pages=${maxPages}`],
      requestMessage(request),
      maxAnswerBytes(maxOutputBytes),
    );
  }

  answer(end: EngineEnd): SkillAnswer {
    return answerOfGuest(end);
  }

  async direct(
    request: SkillRequest,
    signal: AbortSignal | undefined,
  ): Promise<SkillAnswer | undefined> {
    const { wasmPath, input, limits } = request;
    if (limits.maxFuel !== undefined) return undefined; // CPU time is measured per process
    const maxPages = Math.floor(limits.maxMemoryBytes / kPageBytes);
    const compiled = await this.#modules.get(wasmPath, maxPages).catch((cause: unknown) => {
      throw unreadable(wasmPath, cause);
    });
    if ("answer" in compiled) return compiled.answer;
    const { module, isBounded, cappedPages } = compiled;
    if (!isBounded) return undefined;
    const job = { module, input, maxOutputBytes: limits.maxOutputBytes, cappedPages };
    return this.#workers.run(job, limits.maxDurationMs, signal);
  }

  close(): Promise<void> {
    return this.#workers.close();
  }
}
