/**
 * The canary: a POSIX shell script that tries to escape and prints what it found. Arguments: the port, the
 * abstract socket's name, the tools to try for the network, our own node, the survivor's mark ("" for none),
 * a name for files, and the outside directories: each has a file "secret" to read, and is to be written into.
 * Lines of the answer begin with "canary:"; the last is "canary:end", without which the answer is invalid.
 * /dev/null is not used: it may be out of reach.
 */

/** Programs that can open a socket, tried in this order; `node` is our own where it is mounted. */
export const kSocketTools = ["perl", "python3", "node", "bash", "nc"] as const;

/** Suffix that the survivor adds to the mark, which is among its parent's arguments too. */
export const kSurvivorSuffix = "-survivor";

/** Maximum time that the parent waits to be released, in steps of 0.05 s. */
const kPatience = 60;

// Each tool prints "tried" when it has started and is about to connect, then the service's answer: a tool
// that is missing or broken must not look like a service that was refused. Older Nodes bind abstract names
// padded with NUL to the longest length, so both lengths are tried.
const kPerl = `$| = 1; my ($kind, $at) = @ARGV; print "tried\\n";
my @to = $kind eq "tcp" ? pack("S n a4 x8", 2, $at, "\\x7f\\0\\0\\1")
  : (pack("S a*", 1, "\\0$at"), pack("S a108", 1, "\\0$at"));
for my $to (@to) {
  socket(my $s, $kind eq "tcp" ? 2 : 1, 1, 0) or next;
  connect($s, $to) and print scalar <$s>;
}`;

const kPython = `import socket, sys
kind, at = sys.argv[1:]
print("tried", flush=True)
for to in [("127.0.0.1", int(at))] if kind == "tcp" else ["\\0" + at, ("\\0" + at).ljust(108, "\\0")]:
  try:
    s = socket.socket(socket.AF_INET if kind == "tcp" else socket.AF_UNIX)
    s.connect(to)
    print(s.makefile().readline(), end="")
  except OSError:
    pass`;

const kNode = `const [kind, at] = process.argv.slice(1);
console.log("tried");
require("net").connect(kind === "tcp" ? { port: +at, host: "127.0.0.1" } : { path: "\\0" + at })
  .on("error", () => process.exit(1)).pipe(process.stdout);`;

const kBash = `echo tried
exec 3<>"/dev/tcp/127.0.0.1/$2" || exit 1
IFS= read -r -t 5 line <&3 && printf "%s\\n" "$line"`;

/** Quotes a text that has no single quote in it. */
const quoted = (text: string) => `'${text}'`;

const kSurvivor = quoted('trap "" HUP INT TERM; echo canary:up; while :; do sleep 1; done');

/** The script; it needs only the shell and, for the network, one of the tools. */
export const kCanaryScript = `
port=$1 abstract=$2 tools=$3 node=$4 mark=$5 name=$6
shift 6
say() { printf 'canary:%s=%s\\n' "$1" "$2"; }

if [ -n "$mark" ]; then
  if [ -n "$(command -v setsid)" ]; then setsid sh -c ${kSurvivor} "$mark${kSurvivorSuffix}" &
  else sh -c ${kSurvivor} "$mark${kSurvivorSuffix}" & fi
fi

for directory; do
  line=
  IFS= read -r line <"$directory/secret"
  say read "$line"
  echo x >"$directory/$name"
  say wrote tried
done

ask() {
  case $1:$2 in
    perl:*) perl -e ${quoted(kPerl)} "$2" "$3" ;;
    python3:*) python3 -S -c ${quoted(kPython)} "$2" "$3" ;;
    node:*) "$node" -e ${quoted(kNode)} "$2" "$3" ;;
    bash:tcp) bash -c ${quoted(kBash)} bash "$2" "$3" ;;
    nc:tcp) [ -n "$(command -v nc)" ] && echo tried && nc -w 5 127.0.0.1 "$3" ;;
  esac
}
reach() {
  for tool in $tools; do
    answer=$(ask "$tool" "$1" "$2")
    case $answer in tried*) say "reach-$1" "$tool $(echo $answer)"; return ;; esac
  done
}
reach tcp "$port"
reach abstract "$abstract"

wait_count=0
while [ -n "$mark" ] && [ ! -e go ] && [ $wait_count -lt ${kPatience} ]; do
  sleep 0.05 || sleep 1
  wait_count=$((wait_count + 1))
done
echo canary:end
`;

/** The parsed answer of a canary. */
export type CanaryAnswer = {
  /** The text that it read from each directory's secret, in order; "" if none. */
  secrets: string[];
  /** The tool that tried, and the service's complete answer. */
  tcp: { tool: string; answer: string } | undefined;
  abstract: { tool: string; answer: string } | undefined;
};

/** Parses the answer; returns undefined if the script did not reach its end. */
export function parseAnswer(output: string): CanaryAnswer | undefined {
  const said = new Map<string, string>();
  const secrets: string[] = [];
  for (const line of output.split("\n")) {
    const [, name, value = ""] = /^canary:([a-z-]+)(?:=(.*))?$/.exec(line) ?? [];
    if (name === "read") secrets.push(value);
    else if (name !== undefined) said.set(name, value);
  }
  if (!said.has("end")) return undefined;
  const reached = (name: string) => {
    const [, tool, answer = ""] = /^(\S+) tried(?: (.*))?$/.exec(said.get(name) ?? "") ?? [];
    return tool === undefined ? undefined : { tool, answer };
  };
  return {
    secrets,
    tcp: reached("reach-tcp"),
    abstract: reached("reach-abstract"),
  };
}
