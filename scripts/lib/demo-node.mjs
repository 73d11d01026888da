// The example host as an installed program: what it does to a project when the model, a scripted one
// on the loopback, has it changed and committed.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { startScriptedModel } from "../../__tests__/integration/demo-node/support/scripted-model.mjs";
import { inRoot } from "./project.mjs";
import { runBeside } from "./run.mjs";

export const demoDirectory = inRoot("examples", "demo-node");

const turns = [
  { text: "Let me see.", calls: [{ script: "pwd; sed -i s/old/new/ file" }] },
  { text: "Done." },
];

/** Runs the program from an application that has it as a dependency. */
export async function checkDemo(application, { bubblewrapWorks }) {
  const project = path.join(application, "project");
  mkdirSync(project);
  writeFileSync(path.join(project, "file"), "old\n");
  const model = await startScriptedModel(turns);
  const program = path.join(application, "node_modules", ".bin", "demo-node");
  const { code, output } = await runBeside(program, ["--once", "Go on.", "--commit"], {
    cwd: project,
    env: {
      ...process.env,
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "none",
      XDG_STATE_HOME: path.join(application, "state"), // on the project's file system
      ...(bubblewrapWorks && {
        OPENAGENTIC_PROCESS_SANDBOX: "bwrap",
        OPENAGENTIC_PROCESS_SANDBOX_REQUIRED: "1",
      }),
    },
  });
  await model.close();
  assert.equal(code, 0, output);
  if (bubblewrapWorks) assert.equal(model.answers()[0], "/workspace\n[exit code 0]", output);
  assert.match(output, /Done\.\n[\s\S]*committed:/);
  assert.equal(readFileSync(path.join(project, "file"), "utf8"), "new\n");
}
