// A host whose storage does not answer at one path, and later at another one.
//   node hung-storage.mjs HUNG HOME WORKSPACE
// HUNG is a mount that never answers, directly below HOME; WORKSPACE is sound. Prints one line of JSON for each thing tried.
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";

import {
  BubblewrapNativeRunner,
  Bwrap,
  createBubblewrapProcessSandbox,
  createRuntime,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../../../dist/index.js";
import { say } from "./common.mjs";

const [hung, home, workspace] = process.argv.slice(2);
process.env.HOME = home;
const plainPath = process.env.PATH;

// The host's tools, which are looked for before each run: some are on storage that does not answer, one stops later.
const late = join(home, "late");
mkdirSync(join(late, "bin"), { recursive: true });
writeFileSync(join(late, "bin", "late-tool"), "#!/bin/sh\necho tool\n", { mode: 0o755 });
// Links into the silent storage, straight and by a directory, beside one that leads to a tool.
symlinkSync(join(hung, "tool"), join(late, "bin", "hung-tool"));
symlinkSync(hung, join(home, "by-directory"));
symlinkSync("../../by-directory/tool", join(late, "bin", "indirect-tool"));
mkdirSync(join(home, "elsewhere"));
writeFileSync(join(home, "elsewhere", "linked-tool"), "#!/bin/sh\necho linked\n", { mode: 0o755 });
symlinkSync("../../elsewhere/linked-tool", join(late, "bin", "linked-tool"));
symlinkSync(join(hung, "volta"), join(home, ".volta"));
symlinkSync(join(hung, "gitconfig"), join(home, ".gitconfig"));
process.env.PATH = `${hung}/bin:${late}/bin:${home}/.volta/bin:${plainPath}`;
const kCommand = { argv: ["/bin/sh", "-c", "echo ran"], limits: { timeoutMs: 15_000 } };
const kSound = { argv: ["/bin/sh", "-c", "echo ran"] };

function told({ outcome, stdoutText }) {
  return { kind: outcome.kind, reason: outcome.reason, fix: outcome.fix, out: stdoutText };
}
const failed = (error) => ({ code: error.code, reason: error.message, fix: error.fix });

const order = [];
const noted = (name, run) =>
  run.then(told, failed).then((end) => {
    order.push(name);
    return end;
  });

const strict = (shadowDir, options) =>
  new BubblewrapNativeRunner({ shadowDir, prewarm: 0, ...options });
// A run that waits for storage counts as one that runs: these leave the others' places free.
const apart = { maxConcurrent: 2 };
const onHung = [strict(hung, apart), new LocalNativeRunner({ shadowDir: hung, ...apart })];
if (process.env.WITH_LANDLOCK) onHung.push(new LandlockNativeRunner({ shadowDir: hung, ...apart }));
if (process.env.WITH_FIREJAIL) onHung.push(new FirejailNativeRunner({ shadowDir: hung, ...apart }));
// Below it, where even the name has to be looked up.
onHung.push(strict(join(hung, "project"), apart));
const mounts = [{ hostPath: hung, guestPath: "/data", mode: "ro" }];
onHung.push(strict(workspace, { mounts, ...apart }));

const hanging = onHung.flatMap((runner) => [
  noted("hung", runner.exec(kCommand)),
  noted("hung", runner.exec(kCommand)),
]);
const sound = noted("sound", strict(workspace).exec(kSound));
say({ what: "sound beside", end: await sound });
say({ what: "hung", ends: await Promise.all(hanging), order });

let turns = 0;
const ticking = setInterval(() => ++turns, 20);
const tried = (make) => {
  try {
    make();
    return { made: true };
  } catch (error) {
    return failed(error);
  }
};
say({ what: "Bwrap of it", ends: [tried(() => new Bwrap(hung)), tried(() => new Bwrap(hung))] });

// It looks at no path: the process is the host's own, and its start.
const engine = { cmd: "/usr/bin/true", args: [join(hung, "file")] };
const shown = { kind: "dir", label: "hung", hostPath: hung, guestPath: "/hung", mode: "ro" };
const wrapped = createBubblewrapProcessSandbox().wrap({ ...engine, mounts: [shown] });
say({ what: "process sandbox", end: { out: wrapped.args.join(" ") } });

const text = (bwrap) => bwrap.exec("echo ran").then((out) => ({ out }), failed);
say({
  what: "Bwrap beside",
  end: await text(new Bwrap(workspace, [], false, { timeoutMs: 20_000 })),
});
const secret = { secrets: [`${hung}/key`], timeoutMs: 1_500 };
say({ what: "secret", end: await text(new Bwrap(workspace, [], false, secret)) });

const tool = { argv: ["/bin/sh", "-c", "late-tool || echo none"] };
const runner = strict(workspace);
const withTool = () => runner.exec(tool).then(told, failed);
const ends = [await withTool()];
const linked = {
  argv: ["/bin/sh", "-c", "linked-tool || hung-tool || indirect-tool || echo none"],
};
say({ what: "linked", end: await runner.exec(linked).then(told, failed) });
const fuse = openSync("/dev/fuse", "r+");
const mount = ["-i", "-t", "fuse", "-o", "fd=3,rootmode=40000,user_id=0,group_id=0", "late", late];
const env = { PATH: plainPath };
const { status } = spawnSync("mount", mount, {
  env,
  stdio: ["ignore", "inherit", "inherit", fuse],
});
if (status !== 0) throw new Error("the second mount failed");
ends.push(await withTool(), await withTool());
closeSync(fuse);
// It is in use until the threads that waited for it have left it.
const kHungMs = 30_000;
const began = performance.now();
const isLate = () => performance.now() - began > kHungMs;
while (spawnSync("umount", [late], { env, stdio: "ignore" }).status !== 0) {
  if (isLate()) throw new Error("the second mount is still in use");
}
// It is found out a moment later that it answers.
let again = await withTool();
const wanted = ends[0]?.out;
while (again.out !== wanted && !isLate()) again = await withTool();
ends.push(again);
say({ what: "tools", ends });

process.env.HOME = hung;
process.env.XDG_STATE_HOME = join(hung, "state");
const homes = ["private", "none", "kept", { directory: join(hung, "home") }];
const inHome = (option) => strict(workspace, { home: option }).exec(kSound).then(told, failed);
say({ what: "homes", ends: await Promise.all(homes.map(inHome)) });
process.env.HOME = home;
delete process.env.XDG_STATE_HOME;
process.env.PATH = plainPath;

const opened = await strict(workspace).openSession();
say({ what: "session", end: told(await opened.exec(kSound)) });
await opened.close();
const runtime = await createRuntime({ runtimeType: "bubblewrap" }).catch(failed);
say({ what: "runtime", end: { kind: runtime.name ?? runtime.code, reason: runtime.reason } });

// More than Node's pool has threads; meanwhile it serves others.
const before = turns;
const waiting = [
  ...Array.from({ length: 8 }, () => strict(hung).files.read("a").then(told, failed)),
  strict(hung)
    .openTransaction({ directory: join(home, "state") })
    .then(told, failed),
  strict(workspace)
    .openTransaction({ directory: join(hung, "state") })
    .then(told, failed),
  strict(workspace)
    .transactions({ directory: join(hung, "state") })
    .then(told, failed),
];
await stat(workspace);
say({
  what: "files beside",
  end: {
    out: await strict(workspace)
      .files.write("a", "b")
      .then(() => "written", failed),
  },
});
say({ what: "files", ends: await Promise.all(waiting) });
if (turns === before) throw new Error("the event loop was held up");
clearInterval(ticking);
say({ what: "end", turns });
