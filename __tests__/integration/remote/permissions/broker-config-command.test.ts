/** `native-runner broker-config` as it is installed: dist/cli/main.js. */

import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import {
  makeCertificates,
  startNatsServer,
  whyNoNatsServer,
  whyNoOpenssl,
} from "../support/nats-server.js";
import { connectBy } from "./configured-broker.js";

const kMain = path.join(import.meta.dirname, "../../../../dist/cli/main.js");

function command(...words: string[]) {
  const ran = spawnSync(kNodeProgram, [kMain, "broker-config", ...words], { encoding: "utf8" });
  return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
}

describeUnless(whyNoNatsServer ?? whyNoOpenssl, "the command", () => {
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
});
