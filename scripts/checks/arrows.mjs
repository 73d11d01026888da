// The arrows of docs/architecture.md ("Rooms"): who may use whom. A row is a folder, or a file that
// stands above the folders of its room (without its ending), and what it may use besides itself. A
// name that ends in "/" is the folder with all below it. What no row says is refused, and so is a
// file that is in no row; includes.mjs looks at the files.

const policy = "protocol policy/text policy/result policy/options";
const host = "protocol policy/ supervise/os supervise/streams supervise/host";
const prepared = `${host} supervise/network supervise/sandbox supervise/preparation`;
const values = "protocol policy/ supervise/ workspace/ addon/values/";
const launcher = "protocol launcher/kernel launcher/order";
const command = `${launcher} launcher/layers launcher/seccomp launcher/trace`;

/** native/: includes in quotes. */
export const includes = {
  protocol: "",

  "policy/result": "",
  "policy/current": "",
  "policy/text": "policy/result",
  "policy/network": "policy/text policy/result policy/current",
  "policy/options": "protocol policy/text policy/result policy/current policy/network",
  "policy/bubblewrap": policy,
  "policy/firejail": policy,
  "policy/git": policy,
  "policy/run": policy,
  "policy/transaction": policy,
  "policy/denials": `${policy} policy/network policy/bubblewrap policy/run policy/transaction`,
  "policy/policy_text": "policy/",

  "supervise/os": "protocol policy/",
  "supervise/streams": "protocol policy/ supervise/os",
  "supervise/host": "protocol policy/ supervise/os supervise/streams",
  "supervise/network": "protocol policy/ supervise/os",
  "supervise/sandbox": `${host} supervise/network`,
  "supervise/preparation": `${host} supervise/network supervise/sandbox`,
  "supervise/project": prepared,
  "supervise/transaction": prepared,
  "supervise/backends": `${prepared} supervise/project supervise/transaction`,
  "supervise/pool": prepared,
  "supervise/session": prepared,
  "supervise/run": prepared,
  "supervise/supervisor": `${prepared} supervise/pool supervise/run`,

  "workspace/tree": "policy/ supervise/os",
  "workspace/files": "policy/ supervise/os supervise/streams workspace/tree",
  "workspace/changes": "policy/ supervise/os workspace/tree",
  "workspace/copy": "policy/ supervise/os workspace/tree workspace/files workspace/changes",
  "workspace/commit":
    "policy/ supervise/os workspace/tree workspace/files workspace/changes workspace/copy",
  "workspace/transaction": `${prepared} supervise/project supervise/transaction workspace/`,

  "addon/glibc_floor": "",
  "addon/values/": "protocol policy/ supervise/ workspace/",
  "addon/convert/": values,
  "addon/environment/": `${values} addon/convert/`,
  "addon/workspace/": `${values} addon/convert/ addon/environment/`,
  "addon/runners/": `${values} addon/convert/ addon/environment/ addon/workspace/`,
  "addon/module": `${values} addon/convert/ addon/environment/ addon/workspace/ addon/runners/`,

  "launcher/runtime": "",
  "launcher/kernel": "protocol",
  "launcher/order": "protocol launcher/kernel",
  "launcher/layers": launcher,
  "launcher/namespaces": `${launcher} launcher/layers`,
  "launcher/seccomp": launcher,
  "launcher/trace": `${launcher} launcher/seccomp`,
  "launcher/command": command,
  "launcher/main": `${command} launcher/command launcher/namespaces`,

  "tests/": "protocol policy/ supervise/ workspace/ launcher/",
};

/** native/: includes in angle brackets that begin so are these rooms' alone. */
export const systemIncludes = {
  "<napi.h>": "addon/",
  "<node_api.h>": "addon/",
  "<js_native_api.h>": "addon/",
  "<uv.h>": "supervise/ addon/ tests/",
  "<llhttp.h>": "policy/network",
  "<linux/": "supervise/ workspace/ launcher/ tests/",
  "<sys/": "supervise/ workspace/ launcher/ addon/ tests/",
  "<seccomp.h>": "launcher/seccomp tests/",
};

const input = "lib/errors lib/fields lib/regular-file";
const native = `${input} lib/native`;

/** lib/ and types/: imports. Node's own modules are everybody's here (biome.json has exceptions). */
export const imports = {
  "types/": "",
  "lib/guesses": "",
  "lib/errors": "types/ lib/guesses",
  "lib/regular-file": "lib/errors",
  "lib/fields": "lib/errors leven",
  "lib/exec-result": "types/ lib/denials/",
  "lib/package-root": "",
  "lib/native": "types/ lib/errors lib/exec-result lib/package-root",
  "lib/paths": "",
  "lib/answering-path": "types/ lib/native lib/paths",
  "lib/merge/thread/": "types/ lib/merge/ node-diff3",
  "lib/merge/": "types/ lib/package-root",
  "lib/secrets/thread/": "types/ lib/secrets/ @peculiar/x509 reflect-metadata",
  "lib/secrets/": `types/ ${native} lib/package-root`,
  "lib/image/thread/": "lib/errors lib/image/unpack-thread tar/header",
  "lib/image/": `${native} lib/home/kept-homes lib/package-root lib/protected-paths`,
  "lib/network": `types/ ${native} lib/secrets/`,
  "lib/options": "types/",
  "lib/option-schemas": "types/ lib/options valibot",
  "lib/index": "types/ lib/",

  "lib/package-version": "lib/package-root",
  "lib/audit-log/": `types/ ${native} lib/package-version`,
  "lib/metrics/": "types/ lib/errors lib/audit-log/",
  "lib/protected-paths": "lib/paths",
  // Names of files and commands are shown to people by the command line and by tools of an agent.
  "lib/text": "",
  "lib/notable-changes": "",
  "lib/change-text": "types/ lib/notable-changes lib/text picocolors",
  "lib/comment-text": "types/ lib/text",
  "lib/denials/": "types/ lib/protected-paths lib/text",
  "lib/home/": `types/ ${native} lib/answering-path lib/image/ lib/options lib/paths lib/protected-paths`,
  "lib/runners/": `types/ ${native} lib/answering-path lib/home/ lib/options lib/audit-log/ lib/denials/ lib/exec-result lib/guesses lib/merge/ lib/metrics/ lib/network lib/protected-paths lib/runners/ lib/secrets/ lib/text`,
  "lib/shell-policy/": `types/ ${input} unbash`,
  "lib/runtime/": `types/ ${native} lib/audit-log/ lib/network lib/options lib/option-schemas lib/runners/ lib/secrets/ lib/shell-policy/ valibot strip-json-comments`,
  "lib/process-sandbox/": `types/ ${native} lib/runners/ lib/runtime/`,
  "lib/project/": `types/ ${native} lib/answering-path lib/audit-log/ lib/network lib/protected-paths lib/runners/ lib/secrets/`,
  "lib/skills/guest/": "",
  "lib/skills/": `types/ ${native} lib/package-root lib/protected-paths lib/runners/ lib/runtime/ lib/skills/ valibot`,
  "lib/mcp/":
    "types/ lib/errors lib/package-root lib/text lib/change-text lib/comment-text lib/notable-changes " +
    "@modelcontextprotocol/server @modelcontextprotocol/server/stdio valibot @valibot/to-json-schema",
  "lib/review/": "types/ lib/errors lib/fields lib/package-root lib/runners/ valibot",
  "lib/remote/policy/": `types/ ${native} lib/remote/subjects lib/network lib/options lib/option-schemas lib/runners/bubblewrap valibot strip-json-comments`,
  "lib/remote/subjects": "lib/errors",
  "lib/remote/deferred": "",
  "lib/remote/operators": "lib/remote/broker/ lib/remote/subjects lib/remote/wire/ valibot",
  "lib/remote/wire/": `types/ ${native} lib/remote/deferred lib/remote/subjects lib/remote/workspace/ lib/runners/ valibot`,
  "lib/remote/worker/": `types/ ${native} lib/package-version lib/remote/broker/ lib/remote/deferred lib/remote/operators lib/remote/policy/ lib/remote/subjects lib/remote/wire/ lib/remote/workspace/ lib/runners/`,
  "lib/remote/caller/": `types/ ${native} lib/options lib/exec-result lib/remote/broker/ lib/remote/deferred lib/remote/subjects lib/remote/wire/ lib/remote/workspace/ lib/runners/`,
  "lib/remote/broker/": `types/ ${native} lib/remote/subjects @nats-io/transport-node`,
  // Of the SDKs but MCP's only types.
  "lib/adapters/":
    "types/ lib/errors lib/fields lib/text lib/runners/ lib/mcp/ lib/remote/caller/ lib/review/ @modelcontextprotocol/server ai @openai/agents",
  "lib/remote/workspace/": `types/ ${native} lib/package-root lib/runners/ valibot`,
  "lib/cli/":
    `types/ ${native} lib/audit-log/ lib/denials/ lib/home/ lib/image/ lib/network lib/options lib/package-version lib/paths lib/protected-paths lib/runners/ lib/runtime/ lib/project/ lib/secrets/ lib/text lib/change-text lib/comment-text lib/notable-changes lib/shell-policy/policy lib/skills/ lib/mcp/ lib/review/ lib/remote/ ` +
    "commander picocolors cli-table3 @nats-io/jwt @nats-io/transport-node",
};
