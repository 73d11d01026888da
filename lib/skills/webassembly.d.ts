/**
 * The part of the WebAssembly JavaScript interface that this package uses
 * (https://webassembly.github.io/spec/js-api/); TypeScript declares it in its DOM library only.
 */
declare namespace WebAssembly {
  type Imports = Record<string, Record<string, (...values: never[]) => unknown>>;
  type ExternKind = "function" | "global" | "memory" | "table" | "tag";

  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>);
    static imports(module: Module): { module: string; name: string; kind: ExternKind }[];
    static exports(module: Module): { name: string; kind: ExternKind }[];
  }

  class Memory {
    readonly buffer: ArrayBuffer;
  }

  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Record<string, unknown>;
  }

  class CompileError extends Error {}
  class LinkError extends Error {}
  class RuntimeError extends Error {}

  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
}
