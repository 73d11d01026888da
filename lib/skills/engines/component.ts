/**
 * Components on the Node that is running: the toolchain turns them into JavaScript and core modules,
 * in a process under the same walls as the skill; what it made is kept for the next call.
 */

import { createHash } from "node:crypto";

import * as v from "valibot";

import { readRegularFile } from "../../regular-file.js";
import type { SkillAnswer } from "../answer.js";
import { kPageBytes } from "../guest/module-limits.mjs";
import type { TranspiledComponent, TranspileRequest } from "../guest/transpile.mjs";
import { answerOfGuest } from "../guest-script.js";
import { kMaxComponentBytes } from "../skill.js";
import { SkillError, unreadable } from "../skill-error.js";
import type {
  EngineCommand,
  EngineEnd,
  EngineEnforcement,
  SkillEngine,
  SkillRequest,
} from "./engine.js";
import { guestProcess, maxAnswerBytes, requestMessage } from "./guest-process.js";
import { findToolchain } from "./toolchain.js";

/** Transpiled components that are kept; the least recently used goes first. */
const kMaxComponents = 32;

const kTranspiled = v.strictObject({
  javascript: v.string(),
  modules: v.record(v.string(), v.string()),
});
const kRefused = v.strictObject({ error: v.string() });

function read({ stdout, stderr }: EngineEnd): TranspiledComponent {
  let answer: unknown;
  try {
    answer = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(stdout));
  } catch {
    answer = undefined;
  }
  const details = { stderr: new TextDecoder().decode(stderr), engine: "jco" };
  if (v.is(kRefused, answer)) {
    const message = `the component can't be run: ${answer.error}`;
    throw new SkillError(message, { code: "ERR_SKILL_FAILED", ...details });
  }
  const checked = v.safeParse(kTranspiled, answer);
  if (checked.success) return checked.output;
  throw new SkillError("the component toolchain gave no answer", {
    code: "ERR_SKILL_PROTOCOL",
    ...details,
  });
}

/** See {@link SkillEngine}. */
export class ComponentSkillEngine implements SkillEngine {
  readonly name = "jco";
  readonly enforces: EngineEnforcement = {
    fuel: false,
    memory: true,
    time: false,
    wasi: false,
    components: true,
  };

  /**
   * By hash of the component and tier. What was made of an untrusted component is run behind both
   * walls only, and as that component only.
   */
  readonly #components = new Map<string, TranspiledComponent>();

  async command(
    request: SkillRequest,
    run: (command: EngineCommand) => Promise<EngineEnd>,
  ): Promise<EngineCommand> {
    const bytes = await readRegularFile(request.wasmPath, kMaxComponentBytes).catch(
      (cause: unknown) => {
        throw unreadable(request.wasmPath, cause);
      },
    );
    const hash = createHash("sha256").update(bytes).digest("hex");
    const key = `${request.trustTier}:${hash}`;
    const component = this.#components.get(key) ?? (await transpile(bytes, run));
    this.#components.delete(key);
    this.#components.set(key, component);
    const [oldest] = this.#components.keys();
    if (this.#components.size > kMaxComponents && oldest !== undefined) {
      this.#components.delete(oldest);
    }
    const { maxMemoryBytes, maxOutputBytes } = request.limits;
    return guestProcess(
      "component.mjs",
      [`--wasm-max-mem-pages=${Math.floor(maxMemoryBytes / kPageBytes)}`],
      { ...requestMessage(request), component },
      maxAnswerBytes(maxOutputBytes),
    );
  }

  answer(end: EngineEnd): SkillAnswer {
    return answerOfGuest(end);
  }
}

async function transpile(
  bytes: Buffer,
  run: (command: EngineCommand) => Promise<EngineEnd>,
): Promise<TranspiledComponent> {
  const { url, directories } = await findToolchain();
  const message: TranspileRequest = { toolchain: url, component: bytes.toString("base64") };
  const maxBytes = bytes.length * 2 + 16 * 1024 ** 2;
  const command = guestProcess("transpile.mjs", [], message, maxBytes);
  return read(await run({ ...command, readable: [...command.readable, ...directories] }));
}
