/** The grammar of `native-runner mcp`. Parsing only. */

import type { Command } from "commander";

import { file } from "../values/option-values.js";
import type { McpOptions } from "./mcp.js";

/** For `--resume`: the last of the workspace. */
export const kLatest = "latest";

/** Adds what it has besides the options of `run`. */
export function addMcpCommand(
  command: Command,
  action: (options: McpOptions) => Promise<void>,
): Command {
  return command
    .usage("[options]")
    .description("serve the sandbox to an agent by MCP, on standard input and output or HTTP")
    .option(
      "--resume <id>",
      `go on in a transaction that waits: its id, or "${kLatest}": this workspace's last, or a new one`,
    )
    .option("--http [port]", "serve HTTP on 127.0.0.1 instead; default: any free port")
    .option(
      "--token-file <file>",
      "with --http: the token that clients must have; default: a new one, which is told",
      file,
    )
    .hook("preAction", (self) => {
      const { tokenFile, http } = self.opts<McpOptions>();
      if (tokenFile !== undefined && http === undefined) {
        self.error("error: --token-file means nothing without --http");
      }
    })
    .addHelpText(
      "after",
      `
The options are the policy: the model can't widen it. Commands work in a transaction of the
workspace, which waits on disk (\`native-runner tx\`) when the client is gone.

Examples:
  $ native-runner mcp --workspace ~/project
  $ native-runner mcp --workspace ~/project --allow-preset npm --memory 4G --resume latest
  $ native-runner mcp --workspace ~/project --http 7777 --token-file ~/.config/native-runner/token`,
    )
    .action((options: McpOptions) => action(options));
}
