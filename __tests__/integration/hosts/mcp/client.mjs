// A client of `native-runner mcp` that is to be killed: it says when its command is up.
//   node client.mjs '["node", "main.js", "mcp", …]'
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = JSON.parse(process.argv[2]);
const client = new Client({ name: "mortal", version: "1" });
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
await client.connect(transport);
process.stdout.write(`server ${transport.pid}\n`);
const script = "echo kept > kept; setsid sleep 1000 & trap '' TERM; echo up; sleep 1000";
await client.callTool(
  {
    name: "run",
    arguments: {
      command: script,
      env: { NATIVE_RUNNER_TEST_MARK: process.env.NATIVE_RUNNER_TEST_MARK },
    },
  },
  { onprogress: ({ message }) => process.stdout.write(message ?? ""), timeout: 600_000 },
);
