/** Real jobs, each of which needs something that strict does not have. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { kNodeInSandbox } from "../support/node-arguments.js";
import { tempDirectory } from "../support/temp.js";

/** A job in a workspace of its own. */
export type Job = {
  name: string;
  workspace: string;
  argv: string[];
  /** What the command line sets for it. */
  env: Record<string, string>;
  /** What of the network it needs. */
  hosts: string[];
};

type Files = Readonly<Record<string, string>>;

function directoryWith(name: string, files: Files): string {
  const directory = tempDirectory(name, "/var/tmp");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

const sh = (script: string): string[] => ["sh", "-ec", script];

function npmCi(): Job {
  const manifest = { name: "job", version: "1.0.0", dependencies: { dep: "1.0.0" } };
  const resolved = "http://registry.test/dep-1.0.0.tgz";
  const packages = { "": manifest, "node_modules/dep": { version: "1.0.0", resolved } };
  const lock = { name: "job", version: "1.0.0", lockfileVersion: 3, requires: true, packages };
  return {
    name: "npm ci from a registry",
    workspace: directoryWith("npm", {
      "package.json": JSON.stringify(manifest),
      "package-lock.json": JSON.stringify(lock),
    }),
    argv: sh(
      `npm ci --registry http://registry.test --fetch-retries 0 --no-audit --no-fund
       test "$(cat node_modules/dep/index.js)" = "module.exports = 1;"`,
    ),
    env: { npm_config_cache: "/tmp/npm", npm_config_update_notifier: "false", HOME: "/tmp" },
    hosts: ["registry.test"],
  };
}

function cBuild(): Job {
  const headers = directoryWith("headers", {
    "include/one.h": "#include <two.h>\n#define ONE (TWO - 1)\n",
    "include/two.h": "#define TWO 2\n",
  });
  return {
    name: "a C build with headers outside",
    workspace: directoryWith("c", {
      Makefile: `CFLAGS = -I${headers}/include\nprogram: main.o\n\tcc -o $@ $<\n`,
      "main.c": "#include <one.h>\nint main(void) { return ONE - 1; }\n",
    }),
    argv: sh("make && ./program"),
    env: {},
    hosts: [],
  };
}

function pythonTests(): Job {
  const packages = directoryWith("python", {
    "tool/__init__.py": "",
    "tool/value.py": "ONE = 1\n",
  });
  return {
    name: "a Python test run with a package outside",
    workspace: directoryWith("tests", {
      "test_tool.py": `import unittest
from tool.value import ONE
class ToolTest(unittest.TestCase):
    def test_one(self):
        self.assertEqual(ONE, 1)
`,
    }),
    argv: ["/usr/bin/python3", "-m", "unittest"],
    env: { PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: "1" },
    hosts: [],
  };
}

function gitClone(ca: string): Job {
  return {
    name: "git clone over https",
    workspace: tempDirectory("clone", "/var/tmp"),
    argv: sh(`git clone -q https://git.test/git/one one && test "$(cat one/file)" = content`),
    env: { GIT_SSL_CAINFO: ca, HOME: "/tmp" },
    hosts: ["git.test"],
  };
}

function nodeServer(): Job {
  const site = directoryWith("site", { "pages/index.html": "welcome\n" });
  const state = directoryWith("state", {});
  return {
    name: "a Node server that is asked",
    workspace: directoryWith("server", {
      "server.mjs": `import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
const page = readFileSync("${site}/pages/index.html");
const server = createServer((_, response) => {
  appendFileSync("${state}/log", "asked\\n");
  response.end(page);
}).listen(0, "127.0.0.1", async () => {
  const answer = await fetch(\`http://127.0.0.1:\${server.address().port}/\`, { headers: { connection: "close" } });
  process.stdout.write(await answer.text());
  server.close();
});
`,
    }),
    argv: [...kNodeInSandbox, "server.mjs"],
    env: {},
    hosts: [],
  };
}

/** All. `ca`: what the servers' certificate is signed by, a file outside of the workspaces. */
export function makeJobs(ca: string): Job[] {
  return [npmCi(), cBuild(), pythonTests(), gitClone(ca), nodeServer()];
}
