/** What developers do every day, with the real tools of this machine. Each job has a directory of its own. */

export type Job = {
  name: string;
  /** Commands that succeed where the job can be done. */
  needs: readonly string[];
  script: string;
  /** What it prints on the host; inside it prints the same. */
  out: string | RegExp;
};

/** The user has an account, with a name. */
const kAccount = 'getent passwd "$(id -u)"';

const job = (name: string, needs: string, script: string, out: string | RegExp): Job => ({
  name,
  needs: needs.split(",").map((each) => (each.includes(" ") ? each : `command -v ${each}`)),
  script,
  out,
});

const kPackage = `mkdir dep && echo '{"name":"dep","version":"1.0.0","bin":"say.js"}' > dep/package.json &&
  echo 'module.exports = "dep works"' > dep/index.js &&
  printf '#!/usr/bin/env node\\nconsole.log("dep says")\\n' > dep/say.js && chmod +x dep/say.js`;

const kRepository = "git init -q -b main . && echo one > a && git add a && git commit -qm one";

/** Runs a line with a web server of Python's beside it, on the port $port. */
const withServer = (line: string) =>
  `echo page > page.txt
  python3 -u -c '
import http.server
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open("port.new", "w").write(str(s.server_port)); import os; os.rename("port.new", "port"); s.serve_forever()' 2> log &
  server=$!
  until [ -e port ]; do kill -0 $server 2>/dev/null || exit 1; sleep 0.01; done; port=$(cat port)
  ${line}
  kill $server; wait $server 2>/dev/null; true`;

const kMain = "printf '#include <stdio.h>\\nint main(void) { puts(\"built\"); }\\n' > main.c";

export const kJobs: readonly Job[] = [
  // Node.js and npm, as nvm keeps them
  job("node is nvm's", "node", "command -v node; node --version", /^HOME\/\.nvm\/versions\/node\//),
  job(
    "a server and its client in Node",
    "node",
    `node -e 'const s = http.createServer((q, r) => r.end("hi")).listen(0, "127.0.0.1", async () => {
      console.log(await (await fetch("http://127.0.0.1:" + s.address().port)).text()); s.close(); s.closeAllConnections(); })'`,
    "hi",
  ),
  job(
    "Node's worker threads",
    "node",
    `node -e 'new worker_threads.Worker("require(\\"worker_threads\\").parentPort.postMessage(6 * 7)", { eval: true }).on("message", console.log)'`,
    "42",
  ),
  job(
    "Node's test runner",
    "node",
    `echo 'require("node:test")("x", () => {})' > x.test.js; node --test --test-reporter=tap x.test.js | grep '^# pass'`,
    "# pass 1",
  ),
  job(
    "Node about itself",
    `node,${kAccount}`,
    `node -p 'process.memoryUsage().rss > 0 && os.userInfo().uid === process.getuid() && os.homedir() === process.env.HOME'`,
    "true",
  ),
  job("npm init", "npm", "npm init -y > /dev/null && npm pkg get version", '"1.0.0"'),
  job(
    "an npm script that runs a program of the project",
    "npm",
    `mkdir -p node_modules/.bin && printf '#!/bin/sh\\necho linted\\n' > node_modules/.bin/lint && chmod +x node_modules/.bin/lint &&
     echo '{"scripts":{"lint":"lint"}}' > package.json && npm run -s lint`,
    "linted",
  ),
  job(
    "npm pack and install",
    "npm",
    `${kPackage} && npm pack -s ./dep && echo '{}' > package.json && npm install -s --offline --no-audit --no-fund ./dep-1.0.0.tgz && node -p 'require("dep")'`,
    "dep-1.0.0.tgz\ndep works",
  ),
  job(
    "npx of a program of the project",
    "npm",
    `${kPackage} && echo '{}' > package.json && npm install -s --offline --no-audit --no-fund ./dep && npx --offline dep`,
    "dep says",
  ),
  job(
    "npm install -g, and what it installed",
    "npm",
    `${kPackage} && npm install -s -g --offline --install-links --prefix ~/.npm-packages ./dep && ~/.npm-packages/bin/dep; npm uninstall -s -g --prefix ~/.npm-packages dep`,
    "dep says",
  ),
  // Python
  job(
    "python's standard library",
    `python3,${kAccount}`,
    `python3 -c '
import getpass, hashlib, os, ssl, tempfile
print(hashlib.sha256(b"x").hexdigest()[:8], os.path.expanduser("~") == os.environ["HOME"], getpass.getuser() != "")
print(ssl.create_default_context().cert_store_stats()["x509_ca"] > 0)
with tempfile.NamedTemporaryFile() as f: print(os.path.exists(f.name))'`,
    "2d711642 True True\nTrue\nTrue",
  ),
  job(
    "python's multiprocessing",
    "python3",
    `python3 -c '
import multiprocessing
with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))'`,
    "[1, 2]",
  ),
  job(
    "a virtual environment, and a script of it",
    "python3 -m venv --help",
    `python3 -m venv --without-pip v && printf '#!%s/v/bin/python\\nimport sys; print(sys.prefix.endswith("/v"))\\n' "$PWD" > v/bin/tool && chmod +x v/bin/tool && v/bin/tool`,
    "True",
  ),
  job(
    "pip install --user of a wheel, and its use",
    "python3 -m pip --version",
    `python3 -c '
import zipfile
z = zipfile.ZipFile("tiny-1.0-py3-none-any.whl", "w")
z.writestr("tiny.py", "x = \\"tiny works\\"")
z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
z.writestr("tiny-1.0.dist-info/RECORD", "")
z.close()'
     python3 -m pip install -q --user --no-index --no-warn-script-location --disable-pip-version-check $(python3 -m pip install --help | grep -o -m1 -e --break-system-packages) ./tiny-1.0-py3-none-any.whl 2>/dev/null && python3 -c 'import tiny; print(tiny.x)'
     python3 -m pip uninstall -q -y $(python3 -m pip install --help | grep -o -m1 -e --break-system-packages) tiny 2>/dev/null; true`,
    "tiny works",
  ),
  job(
    "python's unit tests",
    "python3",
    `printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test(self): pass\\n' > test_x.py; python3 -m unittest 2>&1 | tail -1`,
    "OK",
  ),
  job(
    "python's sqlite3",
    "python3",
    `python3 -c 'import sqlite3; c = sqlite3.connect("db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(x)"); c.execute("insert into t values(7)"); c.commit(); print(*c.execute("select x from t").fetchone())'`,
    "7",
  ),
  job(
    "a pipx tool, in its own environment",
    "pipx-tool",
    "pipx-tool",
    "pipx-tool in its environment",
  ),
  job(
    "a web server and curl",
    "python3,curl",
    withServer("curl -sf http://127.0.0.1:$port/page.txt"),
    "page",
  ),
  job(
    "wget",
    "python3,wget",
    withServer("wget -q -O - http://127.0.0.1:$port/page.txt 2>/dev/null"),
    "page",
  ),
  job(
    "a unix socket",
    "python3",
    `python3 -c '
import os, socket, threading
path = "socket"
s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()
threading.Thread(target=lambda: s.accept()[0].send(b"by socket")).start()
c = socket.socket(socket.AF_UNIX); c.connect(path); print(c.recv(99).decode())'`,
    "by socket",
  ),
  // git
  job(
    "git commits with the user's identity",
    "git",
    `${kRepository} && git log --format='%an %ae %s'`,
    "Ada Lovelace ada@example.test one",
  ),
  job(
    "git: branch, merge, log",
    "git",
    `${kRepository} && git switch -qc b && echo two > b && git add b && git commit -qm two && git switch -q main && git merge -q --no-ff -m merged b && git log --format=%s --topo-order`,
    "merged\ntwo\none",
  ),
  job(
    "git: rebase and cherry-pick",
    "git",
    `${kRepository} && git switch -qc b && echo two > b && git add b && git commit -qm two && git switch -q main && echo three > c && git add c && git commit -qm three && git rebase -q main b && git cherry-pick -n HEAD~1 2>/dev/null; git log --format=%s`,
    "two\nthree\none",
  ),
  job(
    "git: stash, diff, apply",
    "git",
    `${kRepository} && echo more >> a && git stash -q && git stash pop -q && git diff > p && git checkout -q a && git apply p && git diff --stat | tail -1`,
    " 1 file changed, 1 insertion(+)",
  ),
  job(
    "git: worktree, clone, tag, gc",
    "git",
    `${kRepository} && git tag v1 && git worktree add -q w && git -C w describe --tags && git clone -q . c && git -C c log --format=%s && git gc -q && git fsck`,
    "v1\none",
  ),
  job(
    "git: a hook of the project",
    "git",
    `${kRepository} && printf '#!/bin/sh\\necho hooked\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && git commit -q --allow-empty -m x 2>&1`,
    "hooked",
  ),
  // Building
  job("a C program", "gcc", `${kMain} && gcc -O2 -Wall -o main main.c && ./main`, "built"),
  job(
    "C++ with threads and exceptions",
    "g++",
    `printf '#include <thread>\\n#include <iostream>\\nint main() { std::thread([] { try { throw 1; } catch (int) { std::cout << "caught"; } }).join(); }' > x.cc && g++ -pthread -o x x.cc && ./x`,
    "caught",
  ),
  job(
    "make -j",
    "gcc,make",
    `${kMain} && printf 'all: main\\nmain: main.o\\n\\tcc -o $@ $<\\nclean:\\n\\trm -f main main.o\\n' > Makefile && make -sj4 && ./main && make -s clean && ls`,
    "built\nMakefile\nmain.c",
  ),
  job(
    "CMake, Ninja and CTest",
    "gcc,cmake,ninja",
    `${kMain} && printf 'cmake_minimum_required(VERSION 3.16)\\nproject(x C)\\nadd_executable(main main.c)\\nenable_testing()\\nadd_test(NAME t COMMAND main)\\n' > CMakeLists.txt && cmake -G Ninja -B b > /dev/null && ninja -C b > /dev/null && b/main && ctest --test-dir b | grep -o '100% tests passed'`,
    "built\n100% tests passed",
  ),
  job(
    "ccache",
    "gcc,ccache",
    `${kMain} && ccache gcc -c main.c && ccache gcc -c main.c && ls main.o`,
    "main.o",
  ),
  job(
    "a debugger",
    "gcc,gdb",
    `${kMain} && gcc -g -o main main.c && gdb -nx -batch -ex run ./main 2>/dev/null | grep built`,
    "built",
  ),
  job("pkg-config", "pkg-config", "pkg-config --version | grep -c .", "1"),
  job(
    "javac, jar and java",
    "javac,jar",
    `printf 'class X { public static void main(String[] a) { System.out.println("java " + System.getProperty("user.home").equals(System.getenv("HOME"))); } }' > X.java && javac X.java && jar cfe x.jar X X.class && java -jar x.jar`,
    /^java (true|false)$/,
  ),
  job(
    "maven, offline",
    "mvn",
    `printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version><packaging>pom</packaging></project>' > pom.xml && echo '<settings/>' > s.xml && mvn -B -o -q -s s.xml -Duser.home="$HOME" validate > log 2>&1 && echo valid`,
    "valid",
  ),
  job(
    "cargo new, build, test and run",
    "cargo --version",
    `cargo new -q --vcs none x && cd x && cargo build -q --offline && cargo test -q --offline 2>&1 | grep -c 'test result: ok' ; cargo run -q --offline`,
    /^\d+\nHello, world!$/,
  ),
  job(
    "rustc",
    "rustc --version",
    `echo 'fn main() { println!("{}", 6 * 7); }' > x.rs && rustc x.rs && ./x`,
    "42",
  ),
  job("perl", "perl", `perl -MJSON::PP -e 'print encode_json([1, {a => 2}])'`, '[1,{"a":2}]'),
  // Files
  job(
    "tar and gzip",
    "tar",
    "mkdir d && echo x > d/x && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/x",
    "x",
  ),
  job(
    "xz and zstd",
    "xz,zstd",
    "echo x > x && xz -k x && zstd -q x && xz -dc x.xz && zstd -qdc x.zst",
    "x\nx",
  ),
  job(
    "zip and unzip",
    "zip,unzip",
    "echo x > x && zip -q x.zip x && rm x && unzip -qo x.zip && cat x",
    "x",
  ),
  job("rsync", "rsync", "mkdir a && echo x > a/x && rsync -a a/ b/ && cat b/x", "x"),
  job(
    "find and xargs -P",
    "find",
    "touch a b c && find . -type f -print0 | xargs -0 -n1 -P3 basename | sort",
    "a\nb\nc",
  ),
  job(
    "sed -i, sort, uniq, awk",
    "awk",
    "printf 'b\\na\\nb\\n' > x && sed -i s/a/c/ x && sort x | uniq -c | awk '{print $1 $2}'",
    "2b\n1c",
  ),
  job(
    "diff and patch",
    "patch",
    "echo a > x; echo b > y; diff -u x y > p; patch -s x p && cat x",
    "b",
  ),
  job(
    "a large sparse file",
    "truncate",
    "truncate -s 3G x && stat -c %s x && echo end | dd of=x bs=1 seek=3000000000 conv=notrunc status=none && tail -c +3000000001 x | head -c 3",
    "3221225472\nend",
  ),
  job(
    "links, modes, times",
    "ln",
    "echo x > a && ln a b && ln -s a c && chmod 640 a && touch -d @0 a && stat -c '%h %a %Y' a && readlink c && install -m 755 a d && stat -c %a d",
    "2 640 0\na\n755",
  ),
  job(
    "a pipe with a name, and process substitution",
    "bash",
    "mkfifo f; (echo through > f) & cat f; bash -c 'cat <(echo substituted)'",
    "through\nsubstituted",
  ),
  job(
    "flock, timeout, nohup",
    "flock",
    "flock x echo locked; timeout 5 echo in time; nohup echo goes on 2>/dev/null | cat",
    "locked\nin time\ngoes on",
  ),
  job(
    "mktemp, and TMPDIR",
    "mktemp",
    'f=$(mktemp) && d=$(mktemp -d) && echo x > "$f" && cp "$f" "$d" && rm -r "$f" "$d" && echo made',
    "made",
  ),
  job("jq", "jq", `echo '{"a":[1,2]}' | jq -c '.a|add'`, "3"),
  job(
    "sqlite3",
    "sqlite3",
    `sqlite3 db 'create table t(x); insert into t values(5); select x from t'`,
    "5",
  ),
  job(
    "an editor",
    "vim",
    "echo one > x && vim -Nu NONE -es -c '%s/one/two/' -c wq x; cat x",
    "two",
  ),
  job(
    "file and base64",
    "file",
    "echo text > x && file -b x && base64 x | base64 -d && sha256sum x | cut -c1-8",
    "ASCII text\ntext\nb9e68e1b",
  ),
  // Keys, users, the machine
  job(
    "openssl makes a key and a certificate",
    "openssl",
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=test -days 1 2>/dev/null && openssl verify -CAfile c c",
    "c: OK",
  ),
  job(
    "ssh-keygen",
    `ssh-keygen,${kAccount}`,
    "ssh-keygen -q -t ed25519 -N '' -f k && ssh-keygen -lf k.pub | grep -o ED25519 | head -1",
    "ED25519",
  ),
  job(
    "gpg: a key, a signature",
    "gpg",
    `export GNUPGHOME=$(mktemp -d /tmp/gpg-XXXXXX) && gpg -q --batch --pinentry-mode loopback --passphrase '' --quick-gen-key t@example.test 2>/dev/null && echo x > x && gpg -q --batch -s x 2>/dev/null && gpg -q -d x.gpg 2>/dev/null; gpgconf --kill all; rm -rf "$GNUPGHOME"`,
    "x",
  ),
  job(
    "who one is",
    "id",
    'id -u; id -un; whoami; getent passwd "$(id -u)" | cut -d: -f3; cd && pwd',
    /^\d+\n/,
  ),
  job("a login shell", "bash", `bash -lc 'echo "$HOME"; cd ~ && pwd'`, "HOME\nHOME"),
  job(
    "time zones and locales",
    "date",
    "date -d @0 '+%F %T %Z'; TZ=Europe/Berlin date -d @0 +%T; LC_ALL=C.UTF-8 locale charmap",
    /1970[\s\S]*01:00:00\nUTF-8$/,
  ),
  job(
    "processes",
    "ps",
    "sleep 100 & ps -o pid= -p $! | grep -c .; kill $!; top -bn1 > /dev/null && echo top",
    "1\ntop",
  ),
  job(
    "disks",
    "df",
    "df . > /dev/null && df -h / > /dev/null && echo df; du -s --apparent-size . | cut -f1 | grep -c .",
    "df\n1",
  ),
  job(
    "directories of XDG",
    "mkdir",
    `for d in "\${XDG_CONFIG_HOME:-$HOME/.config}" "\${XDG_CACHE_HOME:-$HOME/.cache}"; do mkdir -p "$d/everyday" && rmdir "$d/everyday" && echo made; done`,
    "made\nmade",
  ),
  job(
    "a terminal of one's own",
    "script",
    "script -qec 'test -t 1 && echo terminal' /dev/null | tr -d '\\r'",
    "terminal",
  ),
  job(
    "the versions of all tools",
    "sh",
    "for t in node npm python3 git gcc make cmake java mvn cargo perl curl jq pipx-tool; do command -v $t && $t --version 2>/dev/null < /dev/null | head -1; done",
    /\/\.nvm\//,
  ),
];
