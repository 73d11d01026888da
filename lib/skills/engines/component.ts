/**
 * Runs components on the running Node: the toolchain turns them into JavaScript and core modules, in a
 * process behind the same walls as the skill; its output is kept for the next call.
 */

import { createHash } from "node:crypto";
import { readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";

import { readRegularFile } from "../../regular-file.js";
import { type SkillAnswer, SkillError, unreadable } from "../answer.js";
import { kPageBytes } from "../guest/module-limits.mjs";
import type { TranspiledComponent, TranspileRequest } from "../guest/transpile.mjs";
import { answerOfGuest, guestProcess, maxAnswerBytes, requestMessage } from "../guest-process.js";
import { kMaxComponentBytes } from "../skill.js";
import type {
  EngineCommand,
  EngineEnd,
  EngineEnforcement,
  SkillEngine,
  SkillRequest,
} from "./engine.js";

/** Number of transpiled components that are kept; the least recently used is dropped first. */
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
   * Transpiled components by hash of the component and tier. The output for an untrusted component runs only
   * behind both walls, and only as that component.
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

/** The component toolchain: an optional peer dependency, located when a component is run. */

const kPackage = "@bytecodealliance/jco-transpile";
const kScope = dirname(kPackage);

type Toolchain = {
  /** URL of its module. */
  url: string;
  /** The directories from which it is loaded. */
  directories: readonly string[];
};

/**
 * Returns the directory of the toolchain's scope, and those that its links lead to (the package layout of
 * pnpm): all of the module's own imports are in this scope.
 */
async function scopeDirectories(file: string): Promise<string[]> {
  const path = await realpath(file);
  const first = path.slice(0, path.lastIndexOf(`${kScope}/`) + kScope.length);
  const found = [first];
  for (const directory of found) {
    for (const name of await readdir(directory)) {
      const scope = dirname(await realpath(join(directory, name)));
      if (!found.includes(scope)) found.push(scope);
    }
  }
  return found;
}

/** @throws (rejects) SkillError naming the package to install if the toolchain is missing. */
async function findToolchain(): Promise<Toolchain> {
  try {
    const url = import.meta.resolve(`${kPackage}/component`);
    return { url, directories: await scopeDirectories(fileURLToPath(url)) };
  } catch (cause) {
    throw new SkillError("this skill is a component, and nothing here runs components", {
      code: "ERR_SKILL_ENGINE",
      fix: `install wasmtime (https://wasmtime.dev) so that it is on PATH, or \`npm install ${kPackage}\``,
      cause,
    });
  }
}
