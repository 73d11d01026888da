import { expect, test } from "vitest";

import { aboutSandbox, type SandboxFacts } from "../../lib/cli/mcp-about.js";

const about = (facts: Partial<SandboxFacts> = {}) =>
  aboutSandbox({
    workspace: "/workspace",
    home: "private",
    tools: [],
    network: "deny",
    isWritable: true,
    ...facts,
  });

test("a model is told what it has, in a few sentences", () => {
  expect(about({ tools: ["nvm", "cargo"] })).toBe(
    "The workspace is /workspace. HOME can be written and starts without the user's files; what a command puts there stays for later commands, until the transaction is discarded, and is no part of the changes. Programs are those of the host's PATH, read-only, with nvm, cargo. There is no network, except the sandbox's own loopback. Where more is needed, try it: a refusal names the grant that a person can give.",
  );
});

test.each([
  [{ home: "none" } as const, "There is no home directory"],
  [{ home: "kept" } as const, "also for later transactions of this workspace"],
  [{ tools: undefined }, "Programs are those of the system."],
  [
    { tools: undefined, root: { image: "a.test/x:1" } },
    "Programs are those of the image a.test/x:1.",
  ],
  [
    { tools: undefined, root: { directory: "/srv/root" } },
    "Programs are those of a root file system of its own.",
  ],
  [{ tools: [] }, "Programs are those of the host's PATH."],
  [{ network: "allow" } as const, "The network is the host's."],
  [{ network: { allow: [] } }, "No host of the network can be reached."],
  [
    { network: { allow: ["a.test"], presets: ["npm"] as const } },
    "these can be reached: a.test, those of the preset npm.",
  ],
  [
    {
      network: {
        allow: ["a.test"],
        secrets: [{ name: "TOKEN", value: "value-of-the-secret", hosts: ["a.test/v1/*"] }],
        http: [{ host: "a.test", methods: ["GET"] }],
      },
    },
    "these can be reached: a.test. $TOKEN stands for a credential that works in requests to a.test/v1/*, and nowhere else; its value is never here. Of requests to a.test only some are allowed.",
  ],
  [{ caches: ["npm", "pip"] }, "Package caches of the host are there: npm, pip."],
  [{ isWritable: false }, "/workspace, and can only be read."],
])("%j", (facts: Partial<SandboxFacts>, part) => {
  expect(about(facts)).toContain(part);
  expect(about(facts)).not.toContain("  ");
});

test("many tools are not all listed, and no name controls a terminal", () => {
  const names = Array.from({ length: 50 }, (_, at) => `tool${at}`);
  expect(about({ tools: names })).toContain("tool39 and 10 more.");
  expect(about({ tools: ["a\u001bb"] })).toContain("with a^[b.");
});
