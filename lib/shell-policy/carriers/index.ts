/** Which commands run more than their command word. */

import type { Carrier } from "../call.js";
import { awk } from "./awk.js";
import { kBuiltins } from "./builtins.js";
import { kEscapes } from "./escapes.js";
import { git } from "./git.js";
import { interpreterCarrier } from "./interpreters.js";
import { fd, find, parallel, ssh, sshOption, watch, xargs } from "./operands.js";
import { kOptionCode, optionValues } from "./option-code.js";
import { sed } from "./sed.js";
import { shellCarrier } from "./shells.js";
import { kSubcommands } from "./subcommands.js";
import { wrapperCarrier } from "./wrappers.js";

const kShells = [
  "sh",
  "bash",
  "dash",
  "ash",
  "zsh",
  "ksh",
  "ksh93",
  "mksh",
  "rbash",
  "hush",
  "yash",
  "fish",
  "csh",
  "tcsh",
  "at",
  "batch",
];

const secureCopy =
  (own: Carrier | undefined): Carrier =>
  (call) => [
    ...(own?.(call) ?? []),
    ...optionValues(call.words, { letters: "o" }).flatMap((value) => sshOption("o", value)),
  ];

const kCarriers = new Map<string, Carrier>([
  ...Object.entries(kBuiltins),
  ...Object.entries(kEscapes),
  ...Object.entries(kOptionCode),
  ...Object.entries(kSubcommands),
  ...kShells.map((name): [string, Carrier] => [name, shellCarrier]),
  ["scp", secureCopy(kOptionCode.scp)],
  ["sftp", secureCopy(kOptionCode.sftp)],
  ...["awk", "gawk", "mawk", "nawk", "original-awk"].map((name): [string, Carrier] => [name, awk]),
  ["sed", sed],
  ["gsed", sed],
  ["git", git],
  ["find", find],
  ["gfind", find],
  ["fd", fd],
  ["fdfind", fd],
  ["xargs", xargs],
  ["gxargs", xargs],
  ["parallel", parallel],
  ["watch", watch],
  ["ssh", ssh],
]);

export function carrierOf(name: string): Carrier | undefined {
  return kCarriers.get(name) ?? wrapperCarrier(name) ?? interpreterCarrier(name);
}
