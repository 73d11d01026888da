/** Whatever an editor can point at in the public types says what it is. */

import { join } from "node:path";
import {
  API,
  type Symbol as CheckedSymbol,
  type Checker,
  SymbolFlags,
  type Type,
} from "typescript/unstable/sync";
import { afterAll, expect, test } from "vitest";

import { kRoot } from "../support/run-tsc.js";

const kConfig = join(kRoot, "tsconfig.json");
const kWithMembers = SymbolFlags.Class | SymbolFlags.Interface | SymbolFlags.TypeAlias;
const kDepth = 3;

const api = new API({ cwd: kRoot });
afterAll(() => api.close());

/** The public names of one module and their members, by whether they have a comment. */
class Documentation {
  readonly documented: string[] = [];
  readonly missing: string[] = [];
  readonly #checker: Checker;
  readonly #seen = new Set<number>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  read(module: CheckedSymbol): void {
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const isAlias = (exported.flags & SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? this.#checker.getAliasedSymbol(exported) : exported;
      this.#note(symbol, exported.name);
      if ((symbol.flags & kWithMembers) === 0) continue;
      this.#members(this.#checker.getDeclaredTypeOfSymbol(symbol), exported.name, kDepth);
    }
  }

  #note(symbol: CheckedSymbol, name: string): void {
    const text = this.#checker.getDocumentationCommentOfSymbol(symbol);
    (text === "" ? this.missing : this.documented).push(name);
  }

  /** Of an object inside, that has no name of its own, too. */
  #members(type: Type, name: string, depth: number): void {
    for (const member of this.#checker.getPropertiesOfType(type)) {
      const isPrivate = member.name.includes("#");
      if (isPrivate || this.#seen.has(member.id) || !isOurs(member)) continue;
      this.#seen.add(member.id);
      this.#note(member, `${name}.${member.name}`);
      const inner = this.#checker.getTypeOfSymbol(member);
      const symbol = inner?.getSymbol();
      if (inner === undefined || symbol?.name !== "__type" || depth === 0) continue;
      if (isOurs(symbol)) this.#members(inner, `${name}.${member.name}`, depth - 1);
    }
  }
}

/** Not of the language, of Node, or made by a mapped type. */
function isOurs({ declarations }: CheckedSymbol): boolean {
  const isInside = (path: string) => path.toLowerCase().startsWith(`${kRoot.toLowerCase()}/`);
  const isOwn = ({ path }: { path: string }) => isInside(path) && !path.includes("/node_modules/");
  return declarations.length > 0 && declarations.every(isOwn);
}

function documentationOf(file: string): Documentation {
  const project = api.updateSnapshot({ openProjects: [kConfig] }).getProject(kConfig);
  const source = project?.program.getSourceFile(join(kRoot, file));
  const module = source && project?.checker.getSymbolAtLocation(source);
  if (project === undefined || module === undefined) throw new Error(`no module in ${file}`);
  const documentation = new Documentation(project.checker);
  documentation.read(module);
  return documentation;
}

test("every public member has a comment", () => {
  const { documented, missing } = documentationOf("lib/index.ts");
  expect(missing).toEqual([]);
  // The controls: the walk has been everywhere.
  for (const name of [
    "BubblewrapNativeRunner.exec",
    "SandboxedExecResult.exitCode",
    "RunnerMetrics.runs.pending",
    "SandboxError.code",
    "Bwrap.exec",
  ]) {
    expect(documented).toContain(name);
  }
});

test("one without is found (control)", () => {
  const { documented, missing } = documentationOf("__tests__/support/undocumented.ts");
  expect(missing.sort()).toEqual(["Bare", "Half.inside.bare", "Half.missing"]);
  expect(documented.sort()).toEqual([
    "Half",
    "Half.inside",
    "Half.inside.reported",
    "Half.reported",
  ]);
});
