/** Commands with an option whose value is run: tar --to-command, rsync -e, sort --compress-program. */

import type { Carrier, Effect } from "../call.js";
import { isLong } from "../options.js";
import { partOf, type ShellWord } from "../word.js";

type CodeOptions = {
  /** Letters, also at the end of a bundle or with the value attached. */
  readonly letters?: string;
  readonly long?: readonly string[];
};

const kCodeOptions: Readonly<Record<string, CodeOptions>> = {
  bat: { long: ["pager"] },
  cpio: { long: ["rsh-command"] },
  man: { letters: "PH", long: ["pager", "html"] },
  rg: { long: ["pre", "hostname-bin"] },
  rsync: { letters: "e", long: ["rsh", "rsync-path"] },
  scp: { letters: "S" },
  sftp: { letters: "S" },
  sort: { long: ["compress-program"] },
  split: { long: ["filter"] },
  tar: {
    letters: "IF",
    long: [
      "to-command",
      "use-compress-program",
      "info-script",
      "new-volume-script",
      "rsh-command",
      "rmt-command",
    ],
  },
  tcpdump: { letters: "z" },
  wget: { long: ["use-askpass"] },
  zip: { long: ["unzip-command"] },
};

/** The values of the options that `wanted` tells, with `=value`, attached or in the next word. */
export function optionValues(
  words: readonly ShellWord[],
  { letters = "", long = [] }: CodeOptions,
): ShellWord[] {
  const found: ShellWord[] = [];
  words.forEach((word, index) => {
    const { text } = word;
    if (index === 0 || !text.startsWith("-")) return;
    const next = words[index + 1];
    if (text.startsWith("--")) {
      if (!long.some((name) => isLong(text, name))) return;
      const equals = text.indexOf("=");
      if (equals >= 0) found.push(partOf(word, text.slice(equals + 1)));
      else if (next) found.push(next);
      return;
    }
    for (const letter of letters) {
      const at = text.indexOf(letter);
      if (at < 1 || !/^-\w*$/.test(text.slice(0, at))) continue;
      const rest = text.slice(at + 1);
      if (rest !== "") found.push(partOf(word, rest.replace(/^=/, "")));
      else if (next) found.push(next);
    }
  });
  return found;
}

function code(words: readonly ShellWord[]): Effect[] {
  return words.map((word) => ({ kind: "code", word }));
}

const kCheckpoint = /^exec=/;

const tar: Carrier = ({ words }) => {
  const actions = optionValues(words, { long: ["checkpoint-action"] });
  return [
    ...code(optionValues(words, kCodeOptions.tar ?? {})),
    ...code(
      actions
        .filter(({ text }) => kCheckpoint.test(text))
        .map((word) => partOf(word, word.text.replace(kCheckpoint, ""))),
    ),
  ];
};

const zip: Carrier = ({ words }) => {
  const index = words.findIndex(({ text }) => text === "-TT");
  const next = words[index + 1];
  return [
    ...code(optionValues(words, kCodeOptions.zip ?? {})),
    ...code(index > 0 && next ? [next] : []),
  ];
};

/** apt and dpkg run what their configuration names. */
export const apt: Carrier = ({ words }) => {
  const word = words.find(({ text }) =>
    /(?:Pre|Post)-Invoke|Pre-Install-Pkgs|Dir::Bin|Proxy-Auto-Detect/i.test(text),
  );
  if (word === undefined) return [];
  const reason = "This sets a command that the package manager runs.";
  return [{ kind: "finding", rule: "inline-code", reason, word }];
};

export const kOptionCode: Readonly<Record<string, Carrier>> = {
  ...Object.fromEntries(
    Object.entries(kCodeOptions).map(([name, options]): [string, Carrier] => [
      name,
      ({ words }) => code(optionValues(words, options)),
    ]),
  ),
  tar,
  bsdtar: tar,
  gtar: tar,
  zip,
  apt,
  "apt-get": apt,
};
