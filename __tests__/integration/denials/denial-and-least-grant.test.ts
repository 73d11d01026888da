// As root too: root is refused other things.
/** Each wall's refusals are told with the least to grant; with that, the same command succeeds. */

import { beforeEach, expect } from "vitest";

import { withMounts } from "../../../lib/cli/options.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type Denial,
  FirejailNativeRunner,
  type Grant,
  LandlockNativeRunner,
  type NativeLimits,
  type NativeMount,
} from "../support/package.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { fillOutside, kRows, type Row } from "./bubblewrap-denials.js";
import { kRuntimeRows } from "./landlock-and-firejail-denials.js";

type Options = Record<string, unknown> & { shadowDir: string };

/** The options with what grants add to them; a mount takes the place of one that is there. */
function granted(options: Options, grants: readonly Grant[]): Options {
  const wider = { ...options };
  for (const { option, value } of grants) {
    const [name = "", field] = option.split(".");
    if (name === "limits") continue;
    if (name === "mounts") wider.mounts = withMounts(mountsOf(wider), [value as NativeMount]);
    else if (name.startsWith("fs")) wider[name] = [...((wider[name] ?? []) as string[]), value];
    else wider[name] = field === "allow" ? { allow: [value] } : value;
  }
  return wider;
}

const mountsOf = ({ mounts }: Options) => (mounts ?? []) as readonly NativeMount[];

describeSandboxed("denials", () => {
  let workspace = "";
  let outside = "";
  beforeEach(() => {
    workspace = tempDirectory("work", "/var/tmp");
    outside = tempDirectory("outside", "/var/tmp");
    fillOutside(outside, workspace);
  });

  const optionsOf = ({ kind }: Row): Options => {
    const base = { shadowDir: workspace };
    if (kind === "landlock") {
      return { ...base, fsReadDirs: ["/usr", "/lib", "/lib64", "/etc", "/bin"], fsWriteDirs: [] };
    }
    if (kind === "firejail")
      return { ...base, fsReadDirs: ["/usr", "/lib", "/lib64", "/etc", "/bin"] };
    if (kind === "read-only workspace") return { ...base, allowWriteWorkspace: false };
    if (kind === "network") return { ...base, network: { allow: ["other.test"] } };
    return kind === "shown" ? { ...base, mounts: [{ hostPath: outside, mode: "ro" }] } : base;
  };

  const run = async (row: Row, options: Options, limits: NativeLimits) => {
    const made =
      row.kind === "landlock"
        ? new LandlockNativeRunner(options)
        : row.kind === "firejail"
          ? new FirejailNativeRunner(options)
          : new BubblewrapNativeRunner(options as BubblewrapNativeRunnerOptions);
    const script = row.script.replaceAll("OUTSIDE", outside);
    const result = await made.exec({
      argv: ["bash", "-c", script],
      limits,
      explain: row.isLookedFor ? "lookups" : true,
    });
    if ("close" in made) await made.close();
    return result;
  };

  const whyNotRun = ({ kind, isForUser }: Row) => {
    if (isForUser && process.getuid?.() === 0) return "uid 0 has no such limit";
    return kind === "landlock" || kind === "firejail" ? whyNo(kind) : undefined;
  };

  const check = async (row: Row) => {
    const options = optionsOf(row);
    const first = await run(row, options, { ...row.limits });
    const [denial] = first.denials as Denial[];
    expect(denial, first.stderrText).toMatchObject(row.denial);
    expect(denial?.grant?.option).toBe(row.grant);
    if (denial?.grant === undefined) {
      expect(denial?.notAdvised).toMatch(/./);
      return;
    }
    if (row.isNotTried) return;
    expect(first.exitCode).not.toBe(0);
    const [name, limit] = denial.grant.option.split(".");
    const limits =
      name === "limits" ? { [limit as string]: denial.grant.value } : { ...row.limits };
    const grants = first.denials.flatMap(({ grant }) => grant ?? []);
    const second = await run(row, granted(options, grants), limits);
    expect(second.exitCode, second.stderrText).toBe(0);
  };
  for (const row of [...kRows, ...kRuntimeRows])
    testUnless(whyNotRun(row), row.name, () => check(row));
});
