/** `native-runner broker-config` as it is installed: dist/cli/main.js. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { eventually } from "../../../support/waits.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import {
  makeCertificates,
  startNatsServer,
  whyNoNatsServer,
  whyNoOpenssl,
} from "../support/nats-server.js";
import { connectBy, makeAccount } from "./configured-broker.js";

const kMain = path.join(import.meta.dirname, "../../../../dist/cli/main.js");

function command(...words: string[]) {
  const ran = spawnSync(kNodeProgram, [kMain, "broker-config", ...words], { encoding: "utf8" });
  return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
}

const outputOf = (...words: string[]) =>
  spawnSync(kNodeProgram, [kMain, ...words], { encoding: "utf8" }).stdout;

describeUnless(whyNoNatsServer ?? whyNoOpenssl ?? whyNoBubblewrap, "the command", () => {
  test("writes what a server and its users start with", async () => {
    const { cert, key, caText } = makeCertificates();
    const directory = path.join(tempDirectory("broker"), "new");
    const words = [
      "-d",
      directory,
      "--tls-cert",
      cert,
      "--tls-key",
      key,
      "--tenant",
      "ci",
      "--worker",
      "build/w1",
    ];
    expect(command(...words)).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(directory).sort()).toEqual(["nats.conf", "tenants", "workers"]);
    const server = await startNatsServer(path.join(directory, "nats.conf"));
    const file = path.join(directory, "tenants/ci.nk");
    const servers = [`tls://localhost:${server.port}`];
    const caller = await connectBy({ servers, credentials: { file }, tls: { ca: caText } });
    await caller.flush();
    await caller.close();
    await server.stop();
    const made = statSync(file).mtimeMs;
    expect(command(...words).stdout).toMatch(/^kept /);
    expect(statSync(file).mtimeMs).toBe(made);
  });

  test("says what is missing, and writes nothing then", () => {
    const parent = tempDirectory("broker");
    const directory = path.join(parent, "new");
    expect(command("-d", directory, "--tenant", "ci")).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "native-runner: --tls-cert and --tls-key are needed\nfix: name the server's certificate and key; on one machine alone, --insecure\n",
    });
    expect(command("-d", directory, "--insecure")).toMatchObject({ code: 2 });
    expect(command("-d", directory, "--insecure", "--tenant", "*").stderr).toContain(
      "see `native-runner broker-config --help`",
    );
    expect(readdirSync(parent)).toEqual([]);
  });

  test("issues credentials of a server's account, with which workers and callers start", async () => {
    const certificates = makeCertificates();
    const directory = tempDirectory("broker");
    const { config, accountKey, account } = await makeAccount(directory, certificates);
    const server = await startNatsServer(config);
    const keys = ["-d", directory, "--account-key", accountKey, "--account", account];
    const words = [...keys, "--tenant", "ci", "--worker", "build/w1", "--operator", "ops"];
    expect(command(...words)).toMatchObject({ code: 0, stderr: "" });
    const url = `tls://localhost:${server.port}`;
    const credentials = (name: string) => path.join(directory, `${name}.creds`);
    const seeds = (name: string) =>
      /^SU[A-Z2-7]{56}$/m.exec(readFileSync(credentials(name), "utf8"))?.[0];
    const seed = seeds("tenants/ci");
    expect(statSync(credentials("tenants/ci")).mode & 0o777).toBe(0o600);

    const workspaces = tempDirectory();
    const project = path.join(workspaces, "ci", "project");
    mkdirSync(project, { recursive: true });
    const access = (name: string) => [
      "--credentials",
      credentials(name),
      "--tls-ca",
      certificates.ca,
    ];
    const worker = spawn(
      kNodeProgram,
      [
        ...[kMain, "worker", "--server", url, ...access("workers/build/w1")],
        ...["--pool", "build", "--name", "w1", "--workspaces", workspaces],
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    let log = "";
    worker.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
    await eventually(
      () => `it serves: ${log}`,
      () => log.includes("serves the pool"),
    );
    const runner = new RemoteNativeRunner({
      ...{ servers: [url], pool: "build", tenant: "ci", workspace: project },
      ...{ credentials: { file: credentials("tenants/ci") }, tls: { ca: certificates.caText } },
    });
    expect((await runner.exec({ argv: ["echo", "ran"] })).stdoutText).toBe("ran\n");
    await runner.close();
    const listed = outputOf(
      "workers",
      "list",
      "--server",
      url,
      ...access("operators/ops"),
      "--operator",
      "ops",
    );
    expect(listed).toContain("build/w1");
    worker.kill("SIGTERM");
    await once(worker, "close");

    // Issued anew: the key is the same, and valid for no longer than it is said.
    expect(command(...words, "--expires", "1s").stdout).toMatch(/^issued anew /);
    expect(seeds("tenants/ci")).toBe(seed);
    const file = credentials("tenants/ci");
    const late = () =>
      connectBy({ servers: [url], credentials: { file }, tls: { ca: certificates.caText } });
    await eventually("it has expired", () =>
      late().then(
        (connection) => connection.close().then(() => false),
        (error: Error) => /expired|Authorization|Authentication/i.test(error.message),
      ),
    );
    await server.stop();
  });

  test.each([
    [["--insecure"], "no nats.conf is written"],
    [["--account", "U1"], "--account is the public key of an account"],
    [["--account-key", "/dev/null"], "has no seed of an account"],
    [["--account-key", "/nowhere"], "has no seed of an account"],
  ])("refuses credentials with %j, and writes none", async (more, message) => {
    const parent = tempDirectory("broker");
    const { accountKey } = await makeAccount(parent, makeCertificates());
    const directory = path.join(parent, "new");
    const words = ["-d", directory, "--tenant", "ci", "--account-key", accountKey, ...more];
    const { code, stdout, stderr } = command(...words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(existsSync(directory)).toBe(false);
  });
});
