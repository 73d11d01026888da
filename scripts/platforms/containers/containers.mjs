// Containers that hosts run in: what the smoke program can do in each, what `doctor` says, and which
// runtime `auto` takes.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { buildDirectory, inRoot } from "../../lib/project.mjs";
import { tempDirectory } from "../../lib/temp.mjs";
import { packageTree } from "../package-tree.mjs";
import { readSmoke } from "../smoke.mjs";
import { contradictions, lackingRuntimes } from "./doctor.mjs";
import { dockerLikeFilter } from "./filter.mjs";
import { gvisorVersion, runInGvisor } from "./gvisor.mjs";
import { runInPodman, whyNoPodman } from "./podman.mjs";

const kUser = "--user=1000:1000";
/** As emptyDir volumes would be. */
const kWritable = ["--tmpfs=/tmp:rw,mode=1777", "--tmpfs=/var/tmp:rw,mode=1777"];
const kRestricted = ["--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only"];

/**
 * `isRootless`: an ordinary user starts it. `slow`: not one of the quick rows. `filter`: Docker's in the place of Podman's. `users`: options for each. `fix`: what doctor must name
 * for bubblewrap.
 */
const kContainers = [
  {
    name: "container: Podman",
    options: [],
    users: { root: [], user: [kUser] },
    fix: /unmask=ALL/,
  },
  {
    name: "container: rootless Podman",
    isRootless: true,
    slow: true,
    options: [],
    users: { root: [], user: [kUser] },
    fix: /unmask=ALL/,
  },
  {
    name: "container: Docker's seccomp filter",
    filter: true,
    options: [],
    users: { root: [], user: [kUser] },
    fix: /seccomp=unconfined/,
  },
  {
    name: "container: Kubernetes' restricted profile",
    filter: true,
    options: [...kRestricted, ...kWritable, "--env=KUBERNETES_SERVICE_HOST=127.0.0.1"],
    users: { user: [kUser] },
    fix: /seccompProfile/,
  },
];

async function look({ options, filter, users, fix, isRootless }) {
  const tree = packageTree(buildDirectory("release"), { withTests: false });
  const all = [...options];
  if (filter) {
    const file = path.join(tempDirectory("filter"), "seccomp.json");
    writeFileSync(file, JSON.stringify(dockerLikeFilter()));
    all.push(`--security-opt=seccomp=${file}`);
  }
  const results = { failed: [] };
  for (const [user, own] of Object.entries(users)) {
    const run = (...words) =>
      runInPodman([...all, ...own], tree, ["node", ...words], { isRootless });
    const smoke = ["/package/__tests__/platforms/smoke/main.mjs", "/package", "--only", "landlock"];
    const { code, output } = await run(...smoke);
    results[user] = readSmoke(output, code);
    const said = await run("/package/dist/cli/main.js", "doctor", "--json");
    const lines = contradictions(said.output, fix);
    results.failed.push(...lines.map((line) => `${user}: ${line}`));
    if (lines.length === 0) results[user].lacks = lackingRuntimes(said.output);
  }
  return results;
}

const nothingIn = (report) => ({
  passed: 0,
  failed: [],
  leftOut: [],
  lacks: lackingRuntimes(report),
});

/** No runtime works in it, so there is nothing to try but what `doctor` says. */
async function lookInGvisor() {
  const words = [process.execPath, inRoot("dist/cli/main.js"), "doctor", "--json"];
  const { output } = await runInGvisor(words);
  const lines = contradictions(output, /outside of gVisor/, null);
  const how = `Debian's runsc ${gvisorVersion()}`;
  return { how, failed: lines, root: lines.length === 0 ? nothingIn(output) : undefined };
}

export function containers() {
  const inPodman = kContainers.map((container) => ({
    name: container.name,
    how: "Podman, of a Debian root file system",
    slow: container.slow,
    look: async () => {
      const why = whyNoPodman();
      return why === undefined ? look(container) : { failed: [why] };
    },
  }));
  return [...inPodman, { name: "container: gVisor", how: "Debian's runsc", look: lookInGvisor }];
}
