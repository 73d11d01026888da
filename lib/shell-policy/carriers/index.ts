/** Which commands run more than their command word. */

import { basename, type Carrier } from "../call.js";
import { awk } from "./awk.js";
import { kBuiltins } from "./builtins.js";
import { at, gdb, tmux, vim } from "./editors.js";
import { git } from "./git.js";
import { interpreterCarrier } from "./interpreters.js";
import { fd, find, parallel, ssh, watch, xargs } from "./operands.js";
import type { Program } from "./program.js";
import { programCarrier } from "./program-carrier.js";
import { kBuilders } from "./programs/builders.js";
import { kInert } from "./programs/inert.js";
import { kLaunchers } from "./programs/launchers.js";
import { kRunners } from "./programs/runners.js";
import { kTools } from "./programs/tools.js";
import { kWrappers } from "./programs/wrappers.js";
import { sed } from "./sed.js";
import { shellCarrier } from "./shells.js";

const kTable: readonly (readonly [string, Program])[] = [
  ...Object.entries(kLaunchers),
  ...Object.entries(kWrappers),
  ...Object.entries(kRunners),
  ...Object.entries(kBuilders),
  ...Object.entries(kTools),
];

/** Programs that the table alone can't describe; what it says of them counts too. */
const kSpecial: readonly (readonly [string, Carrier])[] = [
  ["awk gawk mawk nawk original-awk", awk],
  ["sed gsed", sed],
  ["git", git],
  ["find gfind", find],
  ["fd fdfind", fd],
  ["xargs gxargs", xargs],
  ["parallel", parallel],
  ["watch", watch],
  ["ssh", ssh],
  ["vim vi view ex nvim vimdiff rvim gvim", vim],
  ["gdb lldb", gdb],
  ["tmux", tmux],
  ["at batch", at],
  ["sh bash dash ash zsh ksh ksh93 mksh rbash hush yash fish csh tcsh", shellCarrier],
].flatMap(([names, carrier]) =>
  String(names)
    .split(" ")
    .map((name): [string, Carrier] => [name, carrier as Carrier]),
);

const kCarriers = new Map<string, Carrier>(Object.entries(kBuiltins));

/** Besides what is there already. */
function add(name: string, carrier: Carrier): void {
  const own = kCarriers.get(name) ?? interpreterCarrier(name);
  kCarriers.set(name, own ? (call) => [...carrier(call), ...own(call)] : carrier);
}

for (const [name, program] of kTable) add(name, programCarrier(program));
for (const [name, carrier] of kSpecial) add(name, carrier);

const kLoader = /^ld(?:-linux[\w-]*|-musl-\w+)?\.so(?:\.\d+)?$/;
const loader = programCarrier({
  runs: "command",
  longValues: ["library-path", "preload", "audit", "argv0", "inhibit-rpath"],
  longFlags: ["list", "verify", "inhibit-cache"],
});

export function carrierOf(name: string): Carrier | undefined {
  if (kInert.has(name)) return kCarriers.get(name);
  return (
    kCarriers.get(name) ??
    (kLoader.test(basename(name)) ? loader : undefined) ??
    interpreterCarrier(name)
  );
}

/** Whether the program is known to run nothing that its words name. */
export function isInert(name: string): boolean {
  return kInert.has(name);
}
