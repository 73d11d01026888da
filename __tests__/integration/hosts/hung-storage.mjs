// A host whose storage does not answer at one path.
//   node hung-storage.mjs HUNG HOME WORKSPACE
// HUNG is a mount that never answers, directly below HOME; WORKSPACE is sound. Prints one line of JSON for each thing tried.
import { stat } from "node:fs/promises";
import { join } from "node:path";

import {
  BubblewrapNativeRunner,
  Bwrap,
  createRuntime,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../../../dist/index.js";
import { say } from "./common.mjs";

const [hung, home, workspace] = process.argv.slice(2);
process.env.HOME = home;
const kCommand = { argv: ["/bin/sh", "-c", "echo ran"], limits: { timeoutMs: 1_500 } };
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
const onHung = [strict(hung), new LocalNativeRunner({ shadowDir: hung })];
if (process.env.WITH_LANDLOCK) onHung.push(new LandlockNativeRunner({ shadowDir: hung }));
onHung.push(strict(workspace, { mounts: [{ hostPath: hung, guestPath: "/data", mode: "ro" }] }));

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

const text = (bwrap) => bwrap.exec("echo ran").then((out) => ({ out }), failed);
say({
  what: "Bwrap beside",
  end: await text(new Bwrap(workspace, [], false, { timeoutMs: 20_000 })),
});
const secret = { secrets: [`${hung}/key`], timeoutMs: 1_500 };
say({ what: "secret", end: await text(new Bwrap(workspace, [], false, secret)) });

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
