// A host that leaves a process behind; the control for those that must not.
import { spawnSync } from "node:child_process";
import { leftovers, say } from "./common.mjs";

spawnSync("sh", ["-c", "setsid sleep 1000 > /dev/null 2>&1 < /dev/null &"]);
say(leftovers());
