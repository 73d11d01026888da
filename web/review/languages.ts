/** Syntax colours by file name; each language is loaded on first use. */

import type { Extension } from "@codemirror/state";

type Load = () => Promise<Extension>;

/** Loads a mode of the editor's previous version. */
const legacy = async (load: () => Promise<unknown>, name: string): Promise<Extension> => {
  const [{ StreamLanguage }, modes] = await Promise.all([import("@codemirror/language"), load()]);
  return StreamLanguage.define((modes as Record<string, never>)[name] as never);
};
const javascript = (typescript: boolean, jsx: boolean) => async () =>
  (await import("@codemirror/lang-javascript")).javascript({ typescript, jsx });
const cpp = async () => (await import("@codemirror/lang-cpp")).cpp();
const html = async () => (await import("@codemirror/lang-html")).html();
const shell = () => legacy(() => import("@codemirror/legacy-modes/mode/shell"), "shell");
const yaml = async () => (await import("@codemirror/lang-yaml")).yaml();
const xml = async () => (await import("@codemirror/lang-xml")).xml();
const css = async () => (await import("@codemirror/lang-css")).css();
const json = async () => (await import("@codemirror/lang-json")).json();
const toml = () => legacy(() => import("@codemirror/legacy-modes/mode/toml"), "toml");

const kByEnding: Readonly<Record<string, Load>> = {
  js: javascript(false, true),
  mjs: javascript(false, false),
  cjs: javascript(false, false),
  jsx: javascript(false, true),
  ts: javascript(true, false),
  mts: javascript(true, false),
  cts: javascript(true, false),
  tsx: javascript(true, true),
  json,
  jsonc: json,
  html,
  htm: html,
  vue: html,
  svelte: html,
  css,
  scss: css,
  less: css,
  py: async () => (await import("@codemirror/lang-python")).python(),
  md: async () => (await import("@codemirror/lang-markdown")).markdown(),
  c: cpp,
  h: cpp,
  cc: cpp,
  cpp,
  cxx: cpp,
  hh: cpp,
  hpp: cpp,
  rs: async () => (await import("@codemirror/lang-rust")).rust(),
  java: async () => (await import("@codemirror/lang-java")).java(),
  kt: () => legacy(() => import("@codemirror/legacy-modes/mode/clike"), "kotlin"),
  cs: () => legacy(() => import("@codemirror/legacy-modes/mode/clike"), "csharp"),
  xml,
  svg: xml,
  yml: yaml,
  yaml,
  sql: async () => (await import("@codemirror/lang-sql")).sql(),
  php: async () => (await import("@codemirror/lang-php")).php(),
  go: async () => (await import("@codemirror/lang-go")).go(),
  sh: shell,
  bash: shell,
  zsh: shell,
  rb: () => legacy(() => import("@codemirror/legacy-modes/mode/ruby"), "ruby"),
  swift: () => legacy(() => import("@codemirror/legacy-modes/mode/swift"), "swift"),
  lua: () => legacy(() => import("@codemirror/legacy-modes/mode/lua"), "lua"),
  toml,
  lock: toml,
  ini: () => legacy(() => import("@codemirror/legacy-modes/mode/properties"), "properties"),
  cmake: () => legacy(() => import("@codemirror/legacy-modes/mode/cmake"), "cmake"),
  diff: () => legacy(() => import("@codemirror/legacy-modes/mode/diff"), "diff"),
  patch: () => legacy(() => import("@codemirror/legacy-modes/mode/diff"), "diff"),
};
const kByName: Readonly<Record<string, Load>> = {
  Dockerfile: () => legacy(() => import("@codemirror/legacy-modes/mode/dockerfile"), "dockerFile"),
  "CMakeLists.txt": () => legacy(() => import("@codemirror/legacy-modes/mode/cmake"), "cmake"),
};

/** Returns the language of a file; an empty extension for an unknown name. */
export async function languageFor(path: string): Promise<Extension> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const own = <Value>(table: Readonly<Record<string, Value>>, key: string) =>
    Object.hasOwn(table, key) ? table[key] : undefined;
  const load = own(kByName, name) ?? own(kByEnding, ending);
  return load === undefined ? [] : load();
}
