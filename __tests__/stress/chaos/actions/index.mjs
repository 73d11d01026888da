// What a lane does, one after another. An action is { name, weight, run(context) }: `run` settles when
// it is over, writes what it does into the ledger, and leaves nothing behind. The context: `random`,
// `runners` (RunnerSet), `workspaces`, `ledger`, `nextCall()`, `tokenOf(call, slot)`, and, not in a
// worker, `workers` (WorkerPlaces) and `gigabytes`.
import { batch } from "./batch.mjs";
import { block } from "./block.mjs";
import { burst } from "./burst.mjs";
import { close } from "./close.mjs";
import { crowd } from "./crowd.mjs";
import { drop } from "./drop.mjs";
import { exec } from "./exec.mjs";
import { gigabytes } from "./gigabytes.mjs";
import { replace } from "./replace.mjs";
import { session } from "./session.mjs";
import { shellSession } from "./shell-session.mjs";
import { spawn } from "./spawn.mjs";
import { strikeSession } from "./strike-session.mjs";
import { warm } from "./warm.mjs";
import { worker } from "./worker.mjs";

export const kActions = [
  exec,
  burst,
  spawn,
  session,
  shellSession,
  strikeSession,
  crowd,
  batch,
  close,
  drop,
  warm,
  gigabytes,
  replace,
  block,
  worker,
];
