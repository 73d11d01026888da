import { Command, InvalidArgumentError } from "commander";

/**
 * @typedef {{ project: string, once?: string, commit?: boolean, mcp?: boolean, test?: string, secret?: import("./sandbox.js").Credential[], model: string, maxRounds: number }} DemoOptions
 */

/** @param {string} text */
function positiveCount(text) {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new InvalidArgumentError("Expected a whole number above 0.");
  return Number(text);
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} text
 * @param {import("./sandbox.js").Credential[]} previous
 */
function credential(env, text, previous = []) {
  const [, name = "", hosts = ""] = /^([A-Za-z_]\w*)@([^@]+)$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Expected NAME@HOST[,HOST].");
  if (!env[name]) throw new InvalidArgumentError(`Expected a variable ${name} that is set.`);
  return [...previous, { name, hosts: hosts.split(",") }];
}

/**
 * The grammar of the command line. It throws CommanderError instead of ending the process.
 * @param {NodeJS.ProcessEnv} env
 */
export function createProgram(env) {
  return new Command("demo-node")
    .description(
      "A model works on a project, in a sandbox and a transaction; you decide what is kept.",
    )
    .option("-p, --project <dir>", "the project; it stays as it is until you commit", ".")
    .option("--once <text>", "one request instead of a conversation")
    .option("--commit", "with --once: write the changes into the project")
    .option(
      "--mcp",
      "serve the sandbox to another agent by MCP instead, on standard input and output",
    )
    .option("--test <command>", "what /try runs in each branch, by bash (found in the project)")
    .option(
      "--secret <name@host>",
      "let commands use the variable NAME at HOST[,HOST] without having it; you are asked first; repeatable",
      (text, previous) => credential(env, text, previous),
    )
    .option("-m, --model <name>", "the model (OPENAI_MODEL)", env.OPENAI_MODEL || "gpt-4.1-mini")
    .option("--max-rounds <n>", "answers with tool calls for one request", positiveCount, 50)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^(error: )?/, "demo-node: ")),
    })
    .hook("preAction", (command) => {
      const { commit, once, mcp, secret } = command.opts();
      if (commit && once === undefined) command.error("error: --commit needs --once");
      if (mcp && secret)
        command.error("error: --mcp and --secret exclude each other: nobody is asked");
      if (mcp && once !== undefined) command.error("error: --mcp and --once exclude each other");
    })
    .addHelpText(
      "after",
      `
Environment:
  OPENAI_API_KEY, OPENAI_BASE_URL  the model's endpoint
  OPENAGENTIC_PROCESS_SANDBOX      bwrap: commands run in a sandbox; unset: on this host
  OPENAGENTIC_PROCESS_SANDBOX_REQUIRED=1  no sandbox is an error

Exit codes: 0 done; 1 it failed, or --commit met a conflict; 2 misuse; 130 interrupted.`,
    );
}
