/** What docs/scale says of tables and files, against the code. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Command } from "commander";
import stripJsonComments from "strip-json-comments";
import { expect, type TestContext, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";

import { addWorkerCommand, type WorkerCliOptions } from "../../lib/cli/worker/commands.js";
import {
  callerPermissions,
  operatorPermissions,
  workerPermissions,
} from "../../lib/remote/broker/broker-config.js";
import { defaultWorkerPolicy, parseWorkerPolicy } from "../../lib/remote/policy/worker-policy.js";
import { prometheusText } from "../../lib/remote/worker/metrics-server.js";
import { followCertificateRecipe } from "../support/remote/certificate-recipe.js";

const kPages = path.join(import.meta.dirname, "../../docs/scale");
const page = (name: string) => readFileSync(path.join(kPages, name), "utf8");
/** What stands between backticks in the cells of the row that begins so. */
function cells(text: string, begin: string): string[][] {
  const row = text.split("\n").find((line) => line.startsWith(`| ${begin}`)) ?? "";
  return row
    .split("|")
    .slice(2, -1)
    .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code));
}

test("the permissions are those that the command writes", () => {
  const tenants = page("tenants.md");
  expect(cells(tenants, "a caller of the tenant T")).toEqual(Object.values(callerPermissions("T")));
  const { publish, subscribe } = workerPermissions({ pool: "P", name: "NAME" });
  const [published, subscribed = []] = cells(tenants, "the worker NAME");
  expect(published).toEqual(publish);
  const [free, freeGroup, want, wantGroup, ...own] = subscribed;
  expect([`${free} ${freeGroup}`, `${want} ${wantGroup}`, ...own]).toEqual(subscribe);
  expect(cells(tenants, "the operator NAME")).toEqual(Object.values(operatorPermissions("NAME")));
});

test("the policy shown is one, and the defaults are the code's", () => {
  const text = page("policy.md");
  const [, shown = ""] = /```json\n(.*?)```/s.exec(text) ?? [];
  expect([...parseWorkerPolicy(JSON.parse(stripJsonComments(shown))).tenants.keys()]).toEqual([
    "ci",
    "agents",
  ]);
  const { options, limits, bwrapPath } = defaultWorkerPolicy().ceiling;
  const defaults: Record<string, unknown> = { ...options, bwrapPath };
  for (const name of ["network", "envPolicy", "isolation", "clone", "bwrapPath"]) {
    expect(cells(text, `\`${name}\``)[0]).toEqual([JSON.stringify(defaults[name])]);
  }
  const names = [...Object.keys(defaults), "limits", "slots", "tenants"];
  for (const name of names) expect(text).toMatch(new RegExp(`^\\|.*\`${name}\`.*\\|`, "m"));
  expect(text).toContain(`| \`timeoutMs\` | ${limits.timeoutMs} |`);
  expect(text).toContain(
    `| \`maxStdoutBytes\`, \`maxStderrBytes\` | ${limits.maxStdoutBytes} each |`,
  );
});

test("the metrics are those that there are", () => {
  const counts = { a: 1 };
  const text = prometheusText({
    ...{
      name: "w",
      pool: "p",
      connection: "connected",
      isDraining: false,
      cordonedBy: undefined,
      unfit: undefined,
      canaryFailures: 0,
      slots: 1,
    },
    ...{ running: counts, waiting: counts, starts: 0, declines: counts, refusals: 0 },
    ...{ outcomes: counts, leasesLost: 0, badFrames: 0, excesses: 0, bytesIn: 0, bytesOut: 0 },
  });
  const names = [...text.matchAll(/^# TYPE native_runner_worker_(\w+)/gm)].map(([, name]) => name);
  const [, table = ""] = page("operating.md").split("| metric, after");
  const rows = table.split("\n\n")[0]?.split("\n").slice(2) ?? [];
  const reported = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  expect(reported.sort()).toEqual(names.sort());
});

test("the certificate is one for the broker's name, of that authority", (context: TestContext) => {
  if (spawnSync("openssl", ["version"]).error) {
    process.stderr.write("skipped: the certificate is one for the broker's name: no openssl\n");
    return context.skip("no openssl");
  }
  const cwd = mkdtempSync(path.join(tmpdir(), "certificate-"));
  try {
    followCertificateRecipe(cwd);
    const isFor = (name: string) => {
      const words = `verify -CAfile ca.pem -purpose sslserver -verify_hostname ${name} broker.pem`;
      return spawnSync("openssl", words.split(" "), { cwd }).status === 0;
    };
    expect(isFor("broker.example.org")).toBe(true);
    expect(isFor("other.example.org")).toBe(false);
  } finally {
    rmSync(cwd, { recursive: true });
  }
});

test("the unit is one that systemd takes", (context: TestContext) => {
  const tool = spawnSync("systemd-analyze", ["--version"]);
  if (tool.error) {
    process.stderr.write("skipped: the unit is one that systemd takes: no systemd-analyze\n");
    return context.skip("no systemd-analyze");
  }
  const directory = mkdtempSync(path.join(tmpdir(), "unit-"));
  try {
    const verify = (text: string) => {
      const file = path.join(directory, "native-runner-worker.service");
      // It looks whether the program is there.
      writeFileSync(file, text.replace("/usr/bin/native-runner", process.execPath));
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], {
        encoding: "utf8",
      });
      return {
        status,
        said: stderr.split("\n").filter((line) => line.includes("native-runner-worker")),
      };
    };
    const unit = page("native-runner-worker.service");
    expect(verify(unit)).toEqual({ status: 0, said: [] });
    // The control: what it does not know, it says.
    expect(verify(unit.replace("KillMode=mixed", "KilMode=mixed")).said.join()).toContain(
      "KilMode",
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("the compose file is YAML of services that are there", () => {
  const { services } = parse(page("compose.yaml"), { merge: true }) as {
    services: Record<string, { depends_on?: string[]; volumes: string[]; command?: string[] }>;
  };
  expect(Object.keys(services)).toEqual(["broker", "worker-1", "worker-2", "host"]);
  for (const { depends_on = [] } of Object.values(services)) {
    for (const name of depends_on) expect(Object.keys(services)).toContain(name);
  }
  for (const [at, name] of [
    ["worker-1", "w1"],
    ["worker-2", "w2"],
  ] as const) {
    expect(services[at]?.command).toContain(`--name=${name}`);
    expect(services[at]?.volumes).toContain(
      `./broker/workers/build/${name}.nk:/run/secrets/worker:ro`,
    );
  }
});

/** The group of each kind, whose types kubernetes-types has. */
const kGroups: Record<string, string> = {
  Service: "core/v1",
  PodDisruptionBudget: "policy/v1",
  StatefulSet: "apps/v1",
};

type Manifest = { kind: string; spec?: { template?: { spec?: PodSpec } } };
type PodSpec = { terminationGracePeriodSeconds: number; containers: { args: string[] }[] };

const manifestsOf = (text: string) =>
  parseAllDocuments(text, { version: "1.1" }).map((each) => each.toJS() as Manifest);

/** What the compiler says of a manifest, against the types that are made of Kubernetes' own schema. */
function faultsOf(text: string): string {
  const root = path.join(import.meta.dirname, "../..");
  const directory = mkdtempSync(path.join(root, "node_modules", ".manifest-"));
  try {
    const lines = manifestsOf(text).map((each) => {
      const type = `import("kubernetes-types/${kGroups[each.kind]}").${each.kind}`;
      return `export const ${each.kind} = ${JSON.stringify(each)} as const satisfies DeepReadonly<${type}>;`;
    });
    lines.push(
      "type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;",
    );
    const file = path.join(directory, "manifest.ts");
    writeFileSync(file, lines.join("\n"));
    const words = ["--noEmit", "--strict", "--target", "esnext", "--module", "esnext"];
    const { stdout, status } = spawnSync(
      path.join(root, "node_modules/.bin/tsc"),
      [...words, "--moduleResolution", "bundler", "--ignoreConfig", file],
      { encoding: "utf8" },
    );
    return status === 0 ? "" : stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("the Kubernetes manifests have the fields and types of their kinds", () => {
  const text = page("kubernetes.yaml");
  expect(faultsOf(text)).toBe("");
  // The controls: a field that nobody knows, and a type that is another.
  expect(faultsOf(text.replace("readinessProbe:", "readynessProbe:"))).toContain("readynessProbe");
  expect(faultsOf(text.replace("replicas: 2", 'replicas: "2"'))).toContain("'number'");
});

test("the worker of the manifests is one that the command line takes", () => {
  const pods = manifestsOf(page("kubernetes.yaml")).map(({ spec }) => spec?.template?.spec);
  const pod = pods.find((each) => each !== undefined);
  const [program, name, ...args] = pod?.containers[0]?.args ?? [];
  expect([program, name]).toEqual(["native-runner", "worker"]);
  let taken: WorkerCliOptions | undefined;
  const command = addWorkerCommand(new Command("worker"), async (options) => {
    taken = options;
  });
  command.exitOverride().parse(
    args.map((each) => each.replaceAll("$(POD_NAME)", "native-runner-worker-0")),
    { from: "user" },
  );
  expect(taken).toMatchObject({ pool: "build", name: "native-runner-worker-0", slots: 8 });
  // Nine minutes by default: what is open is told before the pod is killed.
  expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(540);
});
