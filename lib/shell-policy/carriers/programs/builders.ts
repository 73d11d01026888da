/** Compilers and build tools: options that name another program, or load a plugin. */

import type { Program, ProgramTable } from "../program.js";

const kCompiler: Program = {
  refused:
    /^(?:--?wrapper|-B.|-fplugin|--?specs=|@.|-load$|-fpass-plugin=|-fuse-ld=.*\/|--ld-path=|--?plugin\b|-W[lap],.*-plugin|-iplugindir)/,
};
const kLinker: Program = { refused: /^(?:--?plugin\b|@.|-dynamic-linker=\.)/ };
const kLatex: Program = {
  refused: /^--?(?:enable-)?(?:shell-escape|write18)|\\(?:immediate|write18|input\|)/,
};

const kGo: Program = { code: ["-toolexec", "-exec", "-vettool", "--toolexec", "--exec"] };
const kCargo: Program = {
  refused:
    /(?:runner|linker|rustc|rustdoc|wrapper|credential-provider|credential-process)["']?\s*=/,
};
const kRust: Program = { refused: /^(?:-C)?\s*(?:linker|link-args?)=|^@.|^-Zcodegen-backend/ };

const kMake: Program = {
  inline: ["E", "eval"],
  refused:
    /^(?:\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS)\s*[:?+]*=|^SHELL\s*[:?+]*=(?!(?:(?:\/usr)?\/bin\/)?(?:ba|da)?sh$)|^\w+\s*!=|\$[({]\s*(?:shell|eval)\b|`/,
  inputs: ["f", "file", "makefile"],
  assigns: /^(?:CC|CXX|CPP|LD|AR|AS|NM|RANLIB|FC|YACC|LEX|RUSTC|\w+_LAUNCHER)\s*[:?+]*=(.+)$/s,
};

const names = (list: string, program: Program): [string, Program][] =>
  list.split(" ").map((name) => [name, program]);

export const kBuilders: ProgramTable = Object.fromEntries([
  ...names("gcc g++ cc c++ clang clang++ cpp gfortran c99 c89 tcc", kCompiler),
  ...names("ld ld.bfd ld.gold ld.lld lld ar nm ranlib objdump gcc-ar gcc-nm", kLinker),
  ...names("make gmake bmake remake", kMake),
  ...names("latex pdflatex xelatex lualatex tex pdftex latexmk", kLatex),
  ["go", { ...kGo, refused: /^(?:GOFLAGS|CC|CXX)=/ }],
  ["cargo", { ...kCargo, subcommands: { rustc: kRust } }],
  ["rustc", kRust],
  ["ninja", { inputs: ["f"] }],
  [
    "cmake",
    {
      runs: "somewhere",
      assigns:
        /^-D\w*(?:_LAUNCHER|_COMPILER|_LINKER|_COMMAND|_PROGRAM|_EXECUTABLE)(?::\w+)?=(.+)$/s,
      refused: /^-D(?:CMAKE_TOOLCHAIN_FILE|CMAKE_PROJECT_\w*INCLUDE\w*)(?::\w+)?=\/(?:tmp|dev)\//,
    },
  ],
]);
