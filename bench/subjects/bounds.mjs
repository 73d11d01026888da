// How soon a run ends that has written more than `limits.writeBytes` lets it.

import { bursts } from "../bursts.mjs";
import { runTime } from "./scenario.mjs";

const writeBytes = {
  name: "bounds-write",
  work:
    "a run with limits.writeBytes of 4 MiB writes 8 MiB more and waits: from the end of that write to the run's end; " +
    "into the workspace, and into the sandbox's own /tmp",
  variants: ["writeToWorkspace", "writeToTmp"],
  sizes: { full: { rounds: 10, runs: 6 }, quick: { rounds: 2, runs: 2 } },
  request: {},
  measures: [{ ...runTime, name: "until its end", limit: { of: "p99", atMost: 200, aim: 100 } }],
};

export const scenarios = [writeBytes];

const kMebibyte = 2 ** 20;

/** The command tells the time at which it had written all. */
const openWrites =
  (directory) =>
  async ({ workspace }) => {
    const { BubblewrapNativeRunner } = await import("../../dist/index.js");
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const script = `head -c ${8 * kMebibyte} /dev/zero >${directory}/file; date +%s%N; exec sleep 60`;
    const limits = { writeBytes: 4 * kMebibyte };
    const step = async () => {
      const { outcome, stdoutText } = await runner.exec({ argv: ["sh", "-c", script], limits });
      const ended = performance.timeOrigin + performance.now();
      if (outcome.limit !== "writeBytes") throw new Error(`it ended with ${outcome.kind}`);
      await runner.exec({ argv: ["rm", "-f", "file"] });
      // Where it was ended before it could tell the time, nothing had to be waited for.
      return stdoutText === "" ? 0 : ended - Number(stdoutText) / 1e6;
    };
    return { burst: bursts(step), close: () => runner.close() };
  };

export const variants = {
  writeToWorkspace: { title: "into the workspace", kind: "ours", open: openWrites(".") },
  writeToTmp: { title: "into /tmp", kind: "ours", open: openWrites("/tmp") },
};
