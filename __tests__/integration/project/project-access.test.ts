/**
 * Bwrap over real projects: what commands can read, write and reach, in the open and inside an outer
 * bwrap, with the same table. Each refusal has its control: the same command where it must succeed.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { kBegunMs, kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import {
  outerBwrap,
  type ProjectEnd,
  type ProjectRun,
  runProjectHost,
} from "../support/project-host.js";
import { describeSandboxed, plainEnvironment, whyNoOption } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kTexts = [
  "it's \"quoted\" and 'quoted' `x` $HOME $(id) \\ \\n !",
  "first line\n\n\tthird  line",
  "Grüße, 世界 — 😀 e\u0301",
  "-n --version",
  "; | & > < * ? [a] {b} # ~",
];

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((socket) => socket.on("error", () => {}).end("hello\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as { port: number });
});
afterAll(() => void server.close());

type Row = {
  title: string;
  run: Omit<ProjectRun, "project">;
  expected: string | RegExp;
};

/** What each place is made of: a project, a folder to share, a home, and what is shared with nobody. */
function makeScene() {
  const top = tempDirectory("project");
  const [project, shared, home, beside] = ["project", "shared", "home", "beside"].map((name) => {
    mkdirSync(join(top, name));
    return join(top, name);
  }) as [string, string, string, string];
  execFileSync("git", ["init", "-q", project], { env: { PATH: process.env.PATH, HOME: home } });
  mkdirSync(join(project, ".git", "hooks"), { recursive: true });
  mkdirSync(join(home, ".ssh"));
  mkdirSync(join(home, ".config", "gh"), { recursive: true });
  writeFileSync(join(home, ".ssh", "id_rsa"), "PRIVATE\n");
  writeFileSync(join(home, ".netrc"), "PRIVATE\n");
  writeFileSync(join(home, ".config", "gh", "hosts.yml"), "PRIVATE\n");
  writeFileSync(join(home, "notes"), "not private\n");
  writeFileSync(join(beside, "file"), "beside\n");
  return { top, project, shared, home, beside };
}

type Scene = ReturnType<typeof makeScene>;

const tryWrite = (...paths: string[]) =>
  `for p in ${paths.map(quoted).join(" ")}; do (echo x > "$p") 2>/dev/null && echo "wrote $p"; done; echo done`;

const connect = () =>
  `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' 2>/dev/null && echo connected; echo done`;

const rowsOf = ({ project, shared, home, beside }: Scene): Row[] => [
  { title: "starts in the project", run: { command: "pwd" }, expected: `${project}\n` },
  { title: "reads the system", run: { command: "grep -c ^root: /etc/passwd" }, expected: "1\n" },
  {
    title: "writes in the project and in a shared folder",
    run: {
      additional: [shared],
      command: `echo p > made && echo s > ${shared}/made && cat made ${shared}/made`,
    },
    expected: "p\ns\n",
  },
  {
    title: "writes nowhere else",
    run: {
      command: tryWrite("/usr/x", "/etc/x", "/var/x", "/opt/x", "/x", `${shared}/x`, `${beside}/x`),
    },
    expected: "done\n",
  },
  {
    title: "writes in a private /tmp",
    run: { command: "echo x > /tmp/native-runner-x && ls -A /tmp | grep native-runner-x" },
    expected: "native-runner-x\n",
  },
  { title: "does not reach the network", run: { command: connect() }, expected: "done\n" },
  {
    title: "reaches the network when that is allowed",
    run: { network: true, command: connect() },
    expected: "connected\ndone\n",
  },
  {
    title: "reads no secrets of the home directory",
    run: {
      additional: [home],
      command: "cat ~/.ssh/id_rsa ~/.netrc ~/.config/gh/hosts.yml 2>/dev/null; cat ~/notes",
    },
    expected: "not private\n",
  },
  {
    title: "reads them where the list is empty",
    run: {
      additional: [home],
      options: { secrets: [] },
      command: "cat ~/.ssh/id_rsa ~/.netrc ~/.config/gh/hosts.yml ~/notes",
    },
    expected: "PRIVATE\nPRIVATE\nPRIVATE\nnot private\n",
  },
  {
    title: "gives standard output, standard error, and the exit code",
    run: { command: "echo err >&2; echo out; exit 3" },
    expected: "out\nerr\nExit code: 3",
  },
  { title: "says a signal", run: { command: "kill -SEGV $$" }, expected: /SIGSEGV/ },
  {
    title: "ends at its deadline, with what it wrote until then",
    run: { options: { timeoutMs: kBegunMs }, command: "echo begun; sleep 60" },
    expected: `begun\nExit code: 124 (timed out after ${kBegunMs / 1000} s)`,
  },
  ...kTexts.map((text) => ({
    title: `passes on ${JSON.stringify(text)}`,
    run: { command: `printf %s ${quoted(text)}` },
    expected: text,
  })),
];

describeSandboxed("Bwrap", () => {
  const places = [
    ["in the open", undefined],
    ["nested", ["--unshare-pid", "--proc", "/proc"]],
    [
      "nested where no /proc can be mounted",
      ["--unshare-pid", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"],
    ],
  ] as const;

  describe.each(places)("%s", (_, outer) => {
    const scene = makeScene();
    const titles = rowsOf(scene).map(({ title }) => title);
    let rows: Row[] = [];
    let ends: ProjectEnd[] = [];

    beforeAll(async () => {
      rows = rowsOf(scene); // with the port
      const host = await runProjectHost(
        rows.map(({ run }) => ({ project: scene.project, ...run })),
        {
          before: outer === undefined ? [] : outerBwrap(scene.top, outer),
          env: { HOME: scene.home },
        },
      );
      ends = host.ends;
      if (outer !== undefined) expect(host.nested).toBe(true);
    }, 60_000);

    test.each(titles.map((title, index) => [title, index] as const))("%s", (_title, index) => {
      const expected = rows[index]?.expected ?? "";
      if (typeof expected === "string") expect(ends[index]).toEqual({ text: expected });
      else expect(ends[index]?.text).toMatch(expected);
    });

    test("what it wrote is on the host, and nothing more", () => {
      expect(readdirSync(scene.project).sort()).toEqual([".git", "made"]);
      expect(readdirSync(scene.shared)).toEqual(["made"]);
      expect(readdirSync(scene.beside)).toEqual(["file"]);
      expect(readdirSync(scene.home).sort()).toEqual([".config", ".netrc", ".ssh", "notes"]);
      expect(existsSync("/tmp/native-runner-x")).toBe(false);
    });
  });

  test("100 MB of output are a bounded text in bounded memory", async () => {
    const project = tempDirectory("large");
    const line = "0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789ab\n";
    const all = { project, command: `yes '${line.trim()}' | head -c 104857600` };
    const { ends, peakBytes } = await runProjectHost([{ ...all, command: "true" }]);
    const large = await runProjectHost([all]);
    const text = large.ends[0]?.text ?? "";
    expect(ends[0]).toEqual({ text: "" });
    expect(text.length).toBeLessThan(70_000);
    expect(text).toMatch(/^0123[\s\S]*\n\[\.\.\. \d+ of 104857600 bytes left out \.\.\.\]\n0123/);
    expect(large.peakBytes).toBeLessThan(peakBytes + 48 * 1024 * 1024);
  });

  const refusals: [string, string[], RegExp, RegExp][] = [
    ["no /proc", ["--tmpfs", "/proc"], /no \/proc/, /--proc \/proc/],
    // Whose numbers are another namespace's: what the inner bwrap's own leads to there depends on it.
    [
      "a read-only /proc",
      ["--unshare-pid"],
      /Read-only file system|open \/proc\/\d+\/ns\/ns failed/,
      /--proc \/proc/,
    ],
    [
      "forbidden user namespaces",
      ["--unshare-user", "--unshare-pid", "--disable-userns", "--proc", "/proc"],
      /namespaces? /,
      /--disable-userns/,
    ],
  ];
  const hasOption = (word: string) => !word.startsWith("--") || !whyNoOption(word);
  test.each(refusals.filter(([, outer]) => outer.every(hasOption)))(
    "an outer bwrap with %s: a refusal that names it",
    async (_, outer, error, fix) => {
      const project = tempDirectory("refused");
      const before = outerBwrap(project, outer);
      const { ends } = await runProjectHost([{ project, command: "echo ran" }], { before });
      expect(ends[0]?.text).toBeUndefined();
      expect(ends[0]?.code).toBe("ERR_SANDBOX_SETUP");
      expect(ends[0]?.error).toMatch(error);
      expect(ends[0]?.fix).toMatch(fix);
      const { ends: control } = await runProjectHost([{ project, command: "echo ran" }], {
        before: outerBwrap(project, ["--unshare-pid", "--proc", "/proc"]),
      });
      expect(control[0]).toEqual({ text: "ran\n" });
    },
  );

  test("temporary files are private where the host's directory for them can't be written", async () => {
    const top = tempDirectory("temporary");
    const project = join(top, "project");
    mkdirSync(join(project, "own"), { recursive: true });
    const command = 'file=$(mktemp) && dirname "$file"';
    const textsWith = async (env: Record<string, string>) => {
      const runs = [
        { project, command },
        { project, command: 'echo "$TMPDIR|$TMP"', options: { envPolicy: ["PATH", "TMP"] } },
        { project, command: 'echo "$TMPDIR|$TMP"', options: { envPolicy: "clean" as const } },
      ];
      const { ends } = await runProjectHost(runs, { env });
      return ends.map(({ text }) => text);
    };
    expect(await textsWith({ TMPDIR: "/var/tmp/of-the-host", TMP: "/usr" })).toEqual([
      "/tmp\n",
      "|/tmp\n",
      "|\n",
    ]);
    const own = join(project, "own");
    expect(await textsWith({ TMPDIR: own, TMP: "." })).toEqual([`${own}\n`, "|.\n", "|\n"]);
  });

  test("hides secrets in a home that is not shared, links resolved", async () => {
    const top = tempDirectory("homes");
    const project = join(top, "project");
    for (const name of ["project", "home", "home/.ssh", "elsewhere"]) mkdirSync(join(top, name));
    writeFileSync(join(top, "home", ".ssh", "id_rsa"), "PRIVATE\n");
    writeFileSync(join(top, "home", ".netrc"), "PRIVATE\n");
    writeFileSync(join(top, "home", "notes"), "not private\n");
    writeFileSync(join(top, "elsewhere", "credentials"), "PRIVATE\n");
    symlinkSync("/mnt/elsewhere", join(top, "home", ".aws"));
    const command =
      "cd ~; cat .ssh/id_rsa .netrc .aws/credentials /mnt/elsewhere/credentials 2>/dev/null; cat notes";
    const runs = [
      { project, command },
      { project, command, options: { secrets: [] } },
    ];
    // In /tmp, where an ordinary user can write, nothing would show inside: hence the outer one.
    const before = outerBwrap(top, ["--unshare-pid", "--proc", "/proc"]);
    const { ends } = await runProjectHost(runs, {
      before: [...before.slice(0, -1), "--bind", top, "/mnt", "--"],
      env: { HOME: "/mnt/home" },
    });
    expect(ends).toEqual([
      { text: "not private\n" },
      { text: "PRIVATE\nPRIVATE\nPRIVATE\nPRIVATE\nnot private\n" },
    ]);
  });

  test("doctor tells what nesting allows", () => {
    const main = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
    const folder = tempDirectory("doctor");
    const nesting = (outer: readonly string[]) => {
      const [program = "", ...args] = [
        ...outerBwrap(folder, outer),
        ...kNodeInside,
        main,
        "doctor",
        "--json",
      ];
      const { stdout } = spawnSync(program, args, {
        encoding: "utf8",
        env: { ...plainEnvironment(), TMPDIR: folder },
        timeout: kHungMs,
      });
      return (JSON.parse(stdout) as { nesting: object }).nesting;
    };
    expect(nesting(["--unshare-pid", "--proc", "/proc"])).toMatchObject({
      nested: true,
      signs: expect.arrayContaining(["a pid namespace of its own", "bwrap as parent"]),
      proc: expect.stringMatching(/^(private|host)$/),
    });
    expect(nesting(["--unshare-pid"])).toMatchObject({
      nested: true,
      proc: null,
      fix: expect.stringContaining("--proc /proc"),
    });
  });
});
