// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is shell text.
/** What the block list finds by following values, tables of the shell and editors, beside what it lets pass. */

import { describe, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kArithmeticPairs } from "./corpus/pairs/arithmetic.js";
import { kEditorPairs } from "./corpus/pairs/editors.js";
import { kPiecePairs } from "./corpus/pairs/pieces.js";
import { kReplayPairs } from "./corpus/pairs/replays.js";

const kPairs = [...kArithmeticPairs, ...kReplayPairs, ...kEditorPairs, ...kPiecePairs];

describe.each([
  ["arithmetic", kArithmeticPairs],
  ["tables of the shell and earlier lines", kReplayPairs],
  ["editors", kEditorPairs],
  ["words in pieces", kPiecePairs],
])("%s", (_, pairs) => {
  it.each(pairs)("%j is refused, %j is not", (refused, harmless) => {
    for (const shell of ["sh", "bash"] as const) {
      expect(checkShellCommand(harmless, { shell }).blocked).toBeUndefined();
      expect(checkShellCommand(refused, { shell }).allowed).toBe(false);
    }
  });
});

describe("the pairs", () => {
  it("hold each command once", () => {
    const refused = kPairs.map(([command]) => command);
    expect(new Set(refused).size).toBe(refused.length);
    expect(refused.length).toBeGreaterThanOrEqual(250);
  });
});

describe("values of variables", () => {
  it("are looked for on the operator's list too", () => {
    const policy = { shellBlocklist: ["docker"] };
    for (const command of [
      "a=doc; b=ker; ssh h $a$b ps",
      "printf -v x %s%s doc ker; ssh h $x ps",
      "a=doc; b=ker; hash -p /usr/bin/$a$b ls",
      "read x <<< /usr/bin/docker; find . -exec sh -c 'ssh h $x' ';'",
    ]) {
      expect(checkShellCommand(command, policy).blocked?.rule, command).toBe("blocklist");
      expect(checkShellCommand(command).allowed, command).toBe(true);
    }
  });

  it("only add findings: a command word with an expansion is refused as before", () => {
    for (const command of ["x=ls; $x", "a=l; b=s; $a$b", "x=ls; env $x", 'x=ls; sh -c "$x"']) {
      expect(checkShellCommand(command).allowed, command).toBe(false);
    }
  });

  it("replace each other in the order of the text, and not where it branches", () => {
    expect(checkShellCommand("d=/; d=build; rm -rf $d").allowed).toBe(true);
    expect(checkShellCommand("d=/; d=$(pwd); rm -rf $d").allowed).toBe(true);
    expect(checkShellCommand("d=build; rm -rf $d; d=/; ls $d").allowed).toBe(true);
    expect(checkShellCommand("d=/; if x; then d=build; fi; rm -rf $d").allowed).toBe(false);
    expect(checkShellCommand("f() { rm -rf $d; }; d=/; f").allowed).toBe(false);
  });

  it.each([
    'DIR=$(mktemp -d); trap \'rm -rf "$DIR"\' EXIT; cd "$DIR" && git init -q',
    'd=build; [ -d "$d" ] && rm -rf "$d"/*',
    "OUT=/tmp/out; rm -rf $OUT; mkdir -p $OUT",
    "BASE=/; ls $BASE; cd $BASE",
    'VERSION=1.2.3; git tag "v$VERSION" && git push origin "v$VERSION"',
    'host=h; ssh "$host" "cd /srv/app && git pull"',
    'args=--watch=false; npm test -- $args; cmd="npm test"; echo "running $cmd"',
    "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done",
    'a=(a b c); for x in "${a[@]}"; do echo "${x^^}"; done',
    'log() { echo "[$(date)] $*"; }; log start; n=$((n + 1)); log "$n"',
    'ls | while IFS= read -r f; do rm -f "$f"; done; set -- a b; rm -f "$@"',
    "cat > x.sh <<'E'\nlog() { echo \"[$(date)] $1\"; }\na[0]=$(pwd)\nE\nn=$((1 + 2))",
  ])("let pass %j", (command) => {
    expect(checkShellCommand(command, { shell: "bash" }).blocked).toBeUndefined();
  });

  it("name the word that they make", () => {
    const { blocked } = checkShellCommand("ls; a=/etc/sha; cat ${a}dow");
    expect(blocked).toMatchObject({ command: "/etc/shadow", position: 20 });
  });
});
