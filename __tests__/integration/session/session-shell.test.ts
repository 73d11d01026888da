/** What the shell commands of a session hand on to one another, and what they see of that. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { eventually, kBegunMs } from "../../support/waits.js";
import { bytes, run } from "../support/results.js";
import { describeSessions, shellOf } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

describeSessions("a shell session", (maker) => {
  describe.each([
    ["sh", ["sh", "-c"]],
    ["bash", ["bash", "-c"]],
    ["bash as a login shell", ["bash", "-lc"]],
    ["bash with options", ["bash", "-euo", "pipefail", "-c"]],
  ])("with %s", (name, words) => {
    const isBash = name.startsWith("bash");

    test("hands on its directory and variables", async () => {
      const workspace = tempDirectory();
      mkdirSync(join(workspace, "a dir/é"), { recursive: true });
      await using session = await maker.open({ shell: true }, workspace);
      const sh = shellOf(session, ...words);
      const set = `cd 'a dir/é'; A='two words'; export B="q'\\"\\$x\\\`"; C='line
two\\n*'; D='ünï→'; E=; exit 7`;
      expect(await sh(set)).toMatchObject({ exitCode: 7, out: "", err: "" });
      const inside = join(maker.inside(workspace), "a dir/é");
      const get = `pwd; echo "$PWD"; printf '%s|' "$A" "$B" "$C" "$D" "$E"; env | grep -c '^[AB]='`;
      const lines = [inside, inside, `two words|q'"$x\`|line\ntwo\\n*|ünï→||1`];
      expect(await sh(get)).toMatchObject({ out: lines.join("\n"), err: "", exitCode: 0 });
      expect((await run(session, ["pwd"])).out).toBe(inside);
      expect((await sh("cd ..; unset A; exit 0")).exitCode).toBe(0);
      expect((await sh(`pwd; echo "\${A-unset}"`)).out).toBe(
        `${join(maker.inside(workspace), "a dir")}\nunset`,
      );
      expect((await sh("cd - > /dev/null; pwd")).out).toBe(inside);
    });

    test("starts where a call says, with the variables that it names, for that call", async () => {
      const workspace = tempDirectory();
      mkdirSync(join(workspace, "one"));
      mkdirSync(join(workspace, "other"));
      await using session = await maker.open({ shell: true }, workspace);
      const sh = shellOf(session, ...words);
      await sh("cd one; A=1; B=2");
      const own = await sh('echo "$A$B $(pwd)"; cd /', { cwd: "other", env: { A: "it's\n$3" } });
      expect(own).toMatchObject({
        out: `it's\n$32 ${join(maker.inside(workspace), "other")}`,
        err: "",
      });
      expect(await sh(`echo "[\${A-}]$B $(pwd)"`)).toMatchObject({
        out: `[1]2 ${join(maker.inside(workspace), "one")}`,
        err: "",
      });
    });

    test("has back what a call has named, as it was, after that call", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      await sh(`A=1; export B="it's
export A=x"; D='a  b'; export E=`);
      const env = { A: "a", B: "b", C: "c", D: "d", E: "e", IFS: ":", PATH: "/usr/bin:/bin" };
      const show = `printf '%s|' "\${A-}" "\${B-}" "\${C-}" "\${D-}" "\${E-none}"; env | grep -c '^[A-E]='`;
      expect(await sh(`${show}; A=9; C=9; unset B`, { env })).toMatchObject({
        out: "a|b|c|d|e|5",
        err: "",
      });
      expect((await sh("kill -9 $$", { env })).kind).toBe("signaled");
      expect(await sh(show)).toMatchObject({ out: "1|it's\nexport A=x||a  b||2", err: "" });
      expect(await sh("f() { exit 3; }; f", { env })).toMatchObject({ exitCode: 3, err: "" });
      expect(await sh(show)).toMatchObject({ out: "1|it's\nexport A=x||a  b||2", err: "" });
    });

    test("leaves things as they were when a script is killed, late or wrong", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      await sh("A=before");
      expect((await sh("A=killed; kill -9 $$")).kind).toBe("signaled");
      const late = await sh("A=late; cd /; sleep 1000", { limits: { timeoutMs: kBegunMs } });
      expect(late.kind).toBe("timed-out");
      const controller = new AbortController();
      const aborted = sh("A=aborted; echo up; sleep 1000", {
        signal: controller.signal,
        onStdout: () => controller.abort(),
      });
      expect((await aborted).kind).toBe("aborted");
      expect((await sh("if A=wrong")).err).toContain("yntax error");
      expect((await sh("exec true; A=other")).exitCode).toBe(0);
      expect(await sh("echo $A; pwd")).toMatchObject({ exitCode: 0, err: "" });
      expect((await sh("echo $A")).out).toBe("before");
    });

    test("keeps what was set before a script failed", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      expect((await sh("set -e; A=1; false; A=2")).exitCode).toBe(1);
      expect((await sh("set -u; B=1; echo $NO_SUCH; B=2")).err).toContain("NO_SUCH");
      expect((await sh("C=1\nif")).exitCode).toBe(2);
      expect((await sh('echo "$A$B$C"; case $- in *[eux]*) echo options;; esac')).out).toBe(
        name === "bash with options" ? "111\noptions" : "111",
      );
    });

    test("numbers lines, traces and takes input as ever", async () => {
      await using session = await maker.open({ shell: true });
      const alone = maker.runner(tempDirectory());
      for (const script of [
        "no-such-command || true\n\nno-such-other || true",
        "set -x; : one\n: two",
        "cat; echo $1 $0 $#",
        "echo 'a\nb' >&2; exit 3",
        "cat <<END\nx\nEND\n",
        "# a comment\necho x # another",
        "",
        "\n\necho x",
      ]) {
        const input = { stdin: bytes("input") };
        const cold = await run(alone, [...words, script, "name", "arg"], input);
        const warm = await run(session, [...words, script, "name", "arg"], input);
        const { out, err, exitCode } = cold;
        expect(warm, script).toMatchObject({ out, err, exitCode });
      }
    });

    test("keeps two hundred kilobytes, and no more than a megabyte", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      const fill = (size: number) => `A=$(head -c ${size} /dev/zero | tr '\\0' x)`;
      await sh(fill(200_000));
      expect((await sh(`echo \${#A}`)).out).toBe("200000");
      await sh(`${fill(2_000_000)}; B=1`);
      expect((await sh(`echo \${#A} "[\${B-}]"`)).out).toBe("200000 []");
    });

    test("may run at once, and the last to end is the one that counts", async () => {
      const workspace = tempDirectory();
      await using session = await maker.open({ shell: true }, workspace);
      const sh = shellOf(session, ...words);
      await sh("A=0");
      const slow = sh("A=$((A + 1)); while [ ! -e go ]; do sleep 0.01; done; echo $A");
      const quick = await sh("A=$((A + 10)); echo $A");
      writeFileSync(join(workspace, "go"), "");
      expect([quick.out, (await slow).out]).toEqual(["10", "1"]);
      expect((await sh("echo $A")).out).toBe("1");
    });

    test("is itself again after nonsense was written where its state is", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      await sh("A=before");
      const cases = [
        ["echo x > /proc/self/fd/83", "before"],
        ...(isBash ? [["exec 83>&-", "before"]] : []),
        ["printf '\\0' >> /proc/self/fd/83", "before"],
      ];
      for (const [nonsense = "", value] of cases) {
        const seen = await sh(`A=after; ${nonsense}; echo ran`);
        expect(seen).toMatchObject({ out: "ran", exitCode: 0 });
        expect((await sh("echo $A")).out, nonsense).toBe(value);
      }
      const hostile = `printf '/no/such\\n\\0exit 9\\n#end\\n' >> /proc/self/fd/83; kill -9 $$`;
      await sh(hostile);
      const first = await sh("echo ran");
      expect(["setup-failed", "exited"]).toContain(first.kind);
      expect(session.isOpen).toBe(true);
      await using other = await maker.open({ shell: true });
      expect((await shellOf(other, ...words)("echo ran")).out).toBe("ran");
    });

    test("is not disturbed by limits", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      await sh("A=1");
      const limits = { maxFileBytes: 10, maxOpenFiles: 12 };
      expect(await sh("A=2; echo $A", { limits })).toMatchObject({
        kind: "exited",
        out: "2",
        err: "",
      });
      expect((await sh("echo $A")).out).toBe("1");
    });

    if (!isBash) return;

    test("hands on arrays, attributes and functions", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      await sh(`declare -A map=([a b]="c'd" [e]=$'f\\ng'); list=(1 '2 3' $'4\\n5'); declare -i n=3
        readonly r=4; f() { echo "f $1 $n"; }; export -f f; IFS=:; printf() { echo mine; }`);
      const seen = await sh(
        `echo "\${map[a b]} \${map[e]} \${#list[@]} \${list[2]}"; n=n+1; f x; bash -c 'f y'
        (r=5) 2> /dev/null || echo "$r"`,
      );
      expect(seen.out).toBe("c'd f\ng 3 4\n5\nf x 4\nf y \n4");
      expect((await sh("printf x")).out).toBe("mine");
      const env = { list: "named", n: "x", map: "m" };
      expect((await sh('echo "$list"; env | grep -c "^list="', { env })).out).toBe("named\n1");
      const after = await sh(`echo "\${#list[@]} \${list[2]} \${map[a b]}"; n=n+1; echo "$n"`);
      expect(after.out).toBe("3 4\n5 c'd\n5");
    });

    test("leaves things as they were when they can't be listed", async () => {
      await using session = await maker.open({ shell: true });
      const sh = shellOf(session, ...words);
      await sh("A=before");
      const killed = "compgen() { kill -9 $BASHPID; }; A=after; echo ran"; // the process that lists
      expect(await sh(killed)).toMatchObject({ out: "ran", exitCode: 0 });
      expect((await sh("echo $A")).out).toBe("before");
    });
  });

  test("keeps what bash leaves apart from what others do", async () => {
    await using session = await maker.open({ shell: true });
    const bash = shellOf(session, "bash", "-c");
    const sh = shellOf(session, "sh", "-c");
    await bash("list=(1 2); f() { [[ x == x ]]; }; A=bash; mkdir d; cd d");
    expect(await sh('echo "[$A]"; A=sh; basename "$PWD"')).toMatchObject({
      out: "[]\nd",
      err: "",
      exitCode: 0,
    });
    expect((await bash(`echo "$A \${list[1]}"; f`)).out).toBe("bash 2");
    expect((await sh("echo $A")).out).toBe("sh");
  });

  test("has the call's variables whatever a script has made of their names", async () => {
    await using session = await maker.open({ shell: true });
    const bash = shellOf(session, "bash", "-c");
    const env = { A: "call's", B: "call's" };
    const show = 'printf "%s|" "$A" "$B"; env | grep -c "^[AB]="';
    await bash(`readonly A=state; declare -r -a B=(1 2)
      export() { :; }; unset() { :; }; eval() { :; }; trap() { :; }; set() { :; }; declare() { :; }`);
    expect(await bash(show, { env })).toMatchObject({ out: "call's|call's|2", err: "" });
    const kept = await bash(`echo "$A \${B[1]}"; (A=2) 2> /dev/null || echo "read only"; C=3`);
    expect(kept).toMatchObject({
      out: "state 2\nread only",
      result: { shellState: { status: "kept" } },
    });
    expect((await bash("echo $C; builtin declare -F | grep -c export")).out).toBe("3\n1");
  });

  test.each([
    ["quotes", `A=$(head -c 900000 /dev/zero | tr '\\0' "'")`, `\${#A}`, "900000"],
    ["words in quotes", `A=$(head -c 450000 /dev/zero | sed "s/./a'/g")`, `\${#A}`, "900000"],
    ["an array of lines", `for i in {1..30000}; do A[i]=$'\\n'; done`, `\${#A[@]}`, "30000"],
    [
      "a function",
      `eval "f() { set -- $(head -c 150000 /dev/zero | sed "s/./'a' /g"); }"`,
      "$(f; echo done)",
      "done",
    ],
  ])("takes a large state back in a moment: %s", async (_name, fill, show, shown) => {
    await using session = await maker.open({ shell: true });
    const bash = shellOf(session, "bash", "-c");
    const env = { LC_ALL: "C.UTF-8" }; // where a character may be of more than one byte
    const filled = await bash(fill, { env });
    expect(filled).toMatchObject({ kind: "exited", result: { shellState: { status: "kept" } } });
    const limits = { timeoutMs: 10_000 };
    const next = await bash(`echo "${show}"`, { env, limits });
    expect(next).toMatchObject({ out: shown, result: { shellState: { status: "kept" } } });
  });

  test("does not touch a file that a script has open", async () => {
    const workspace = tempDirectory();
    await using session = await maker.open({ shell: true }, workspace);
    await run(session, "exec 9> lock; echo mine >&9");
    await run(session, ["bash", "-c", "exec 200> other; exec {own}> third; echo x >&$own"]);
    expect(readFileSync(join(workspace, "lock"), "utf8")).toBe("mine\n");
    expect(readFileSync(join(workspace, "other"), "utf8")).toBe("");
    expect(readFileSync(join(workspace, "third"), "utf8")).toBe("x\n");
  });

  test("shows little of itself to a script", async () => {
    await using session = await maker.open({ shell: true });
    const seen = await run(session, [
      "bash",
      "-c",
      `set | grep -c '^__nr'; declare -F; tr '\\0' ' ' < /proc/$$/cmdline`,
    ]);
    const [count, ...line] = seen.out.split("\n");
    expect(count).toBe("0");
    expect(line.join("\n")).toMatch(/^bash -c \. \/proc\/self\/fd\/83; set \| grep/);
  });

  test("is not in force where it was not asked for", async () => {
    await using session = await maker.open();
    await run(session, "A=1; mkdir d; cd d");
    expect((await run(session, `echo "[$A]"; pwd | grep -c '/d$'`)).out).toBe("[]\n0");
  });

  test("ends a command's background processes with it, as any session does", async () => {
    const workspace = tempDirectory();
    await using session = await maker.open({ shell: true }, workspace);
    await run(session, "(while :; do echo x >> grows; sleep 0.01; done) & A=1");
    await eventually("nothing is written", () => existsSync(workspace));
    const before = existsSync(join(workspace, "grows"))
      ? readFileSync(join(workspace, "grows"), "utf8").length
      : 0;
    await run(session, "sleep 0.2; echo $A");
    const after = existsSync(join(workspace, "grows"))
      ? readFileSync(join(workspace, "grows"), "utf8").length
      : 0;
    expect(after).toBe(before);
  });
});
