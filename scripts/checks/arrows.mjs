// The arrows of docs/architecture.md ("Rooms"): who may use whom. A row is a folder, or a file that
// stands above the folders of its room (without its ending), and what it may use besides itself. A
// name that ends in "/" is the folder with all below it. What no row says is refused, and so is a
// file that is in no row; includes.mjs looks at the files.

const policy = "protocol policy/text policy/result policy/options";
const network = "policy/text policy/result policy/network/address policy/network/name";
const host = "protocol policy/ supervise/os supervise/streams supervise/host";
const prepared = `${host} supervise/denials supervise/lease supervise/network supervise/sandbox supervise/clone supervise/preparation`;
const values = "protocol policy/ supervise/ effects/ addon/values/";
const launcher = "protocol launcher/text launcher/kernel launcher/order";
const command = `${launcher} launcher/layers launcher/seccomp launcher/renames launcher/trace launcher/tree`;

/** native/: includes in quotes. */
export const includes = {
  protocol: "",

  "policy/text": "",
  "policy/lease": "",
  "policy/result": "",
  "policy/options": "protocol policy/text policy/lease policy/result policy/network/rules",
  "policy/bubblewrap": policy,
  "policy/changes": policy,
  "policy/denials": `${policy} policy/network/address policy/network/record policy/bubblewrap policy/changes policy/outcome policy/denials/grants`,
  "policy/denials/grants": `${policy} policy/changes policy/denials`,
  "policy/diff": policy,
  "policy/firejail": policy,
  "policy/git": policy,
  "policy/network/address": "policy/text policy/result",
  "policy/network/name": "policy/text policy/result policy/network/address",
  "policy/network/wire": "",
  "policy/network/dns": `${network} policy/network/wire`,
  "policy/network/http": network,
  "policy/network/record": "",
  "policy/network/rules": network,
  "policy/network/socks": `${network} policy/network/wire`,
  "policy/network/synthetic": network,
  "policy/network/tls": `${network} policy/network/wire`,
  "policy/outcome": policy,
  "policy/shell": policy,
  "policy/transaction": policy,
  "policy/policy_text": "policy/",

  "supervise/os": "protocol policy/",
  "supervise/proc": "protocol policy/ supervise/os",
  "supervise/streams": "protocol policy/ supervise/os",
  "supervise/host": "protocol policy/ supervise/os supervise/streams",
  "supervise/denials": "protocol policy/ supervise/os",
  "supervise/lease": "policy/ supervise/os",
  "supervise/network": "protocol policy/ supervise/os",
  "supervise/network/io": "policy/ supervise/os",
  "supervise/network/record": "policy/ supervise/network",
  "supervise/network/decide": "policy/ supervise/network supervise/network/record",
  "supervise/network/dial": "policy/ supervise/os supervise/network supervise/network/io",
  "supervise/network/dns": "policy/ supervise/os supervise/network/io supervise/network/record",
  "supervise/network/relay": "supervise/os supervise/network/io",
  "supervise/network/connection": "policy/ supervise/os supervise/network supervise/network/",
  "supervise/network/service": "policy/ supervise/os supervise/network supervise/network/",
  "supervise/sandbox": `${host} supervise/proc supervise/network`,
  "supervise/clone": `${host} supervise/network supervise/sandbox`,
  "supervise/preparation": `${host} supervise/lease supervise/network supervise/sandbox supervise/clone`,
  "supervise/project": prepared,
  "supervise/transaction": prepared,
  "supervise/runtimes": `${prepared} supervise/project supervise/transaction`,
  "supervise/pool": prepared,
  "supervise/session": prepared,
  "supervise/run": prepared,
  "supervise/lanes": `${prepared} supervise/pool`,
  "supervise/message_queue": "",
  "supervise/supervisor": `${prepared} supervise/pool supervise/run supervise/lanes supervise/message_queue`,

  "effects/tree": "policy/ supervise/os",
  "effects/files": "policy/ supervise/os supervise/streams effects/tree",
  "effects/changes": "policy/ supervise/os effects/tree",
  "effects/checkpoint":
    "policy/ supervise/os effects/tree effects/files effects/changes effects/copy",
  "effects/copy": "policy/ supervise/os effects/tree effects/files effects/changes",
  "effects/commit": "policy/ supervise/os effects/tree effects/files effects/changes effects/copy",
  "effects/transaction/fresh":
    "protocol policy/ supervise/os supervise/transaction effects/tree effects/changes",
  "effects/transaction": `${prepared} supervise/transaction effects/`,

  "addon/glibc_floor": "",
  "addon/values/": "protocol policy/ supervise/ effects/",
  "addon/convert/": values,
  "addon/environment/": `${values} addon/convert/`,
  "addon/transactions/": `${values} addon/convert/ addon/environment/`,
  "addon/files/": `${values} addon/convert/ addon/environment/ addon/transactions/`,
  "addon/runners/": `${values} addon/convert/ addon/environment/ addon/transactions/`,
  "addon/module": `${values} addon/convert/ addon/environment/ addon/files/ addon/transactions/ addon/runners/`,

  "launcher/text": "protocol",
  "launcher/runtime": "",
  "launcher/kernel": "protocol launcher/text",
  "launcher/order": "protocol launcher/text launcher/kernel",
  "launcher/layers": launcher,
  "launcher/namespaces": launcher,
  "launcher/seccomp": launcher,
  "launcher/renames": `${launcher} launcher/layers launcher/seccomp launcher/trace`,
  "launcher/trace": `${launcher} launcher/seccomp`,
  "launcher/tree": `${launcher} launcher/trace`,
  "launcher/command": command,
  "launcher/session": `${command} launcher/command`,
  "launcher/clone": `${launcher} launcher/layers launcher/namespaces`,
  "launcher/main": `${command} launcher/command launcher/session launcher/namespaces launcher/clone`,

  "tests/": "protocol policy/ supervise/ effects/ launcher/",
};

/** native/: includes in angle brackets that begin so are these rooms' alone. */
export const systemIncludes = {
  "<napi.h>": "addon/",
  "<node_api.h>": "addon/",
  "<js_native_api.h>": "addon/",
  "<uv.h>": "supervise/ addon/ tests/",
  "<linux/": "supervise/ effects/ launcher/ tests/",
  "<sys/": "supervise/ effects/ launcher/ addon/ tests/",
  "<seccomp.h>": "launcher/seccomp tests/",
};

const input = "lib/errors lib/fields lib/nearest lib/regular-file";
const native = `${input} lib/native`;

/** lib/ and types/: imports. Node's own modules are everybody's here (biome.json has exceptions). */
export const imports = {
  "types/": "",
  "lib/errors": "types/",
  "lib/nearest": "leven",
  "lib/regular-file": "lib/errors",
  "lib/fields": "lib/errors lib/nearest",
  "lib/argv": `types/ ${native}`,
  "lib/native": "types/ lib/errors lib/runners/result detect-libc",
  "lib/index": "types/ lib/",

  "lib/package-version": "",
  "lib/audit-log/": `types/ ${native} lib/package-version`,
  "lib/files/": `types/ ${native}`,
  "lib/network/": `types/ ${native}`,
  "lib/metrics/": "types/ lib/errors lib/audit-log/",
  "lib/runners/result": "types/ lib/errors lib/denials/",
  "lib/protected-names": "",
  "lib/homes": "",
  "lib/home-lists": "lib/homes",
  "lib/shell-quote": "",
  "lib/denials/": "types/ lib/home-lists lib/homes lib/protected-names lib/shell-quote",
  "lib/runners/": `types/ ${native} lib/audit-log/ lib/denials/ lib/protected-names lib/files/ lib/homes lib/metrics/ lib/network/ lib/runners/`,
  "lib/shell-policy/": `types/ ${input} unbash`,
  "lib/runtime/": `types/ ${native} lib/audit-log/ lib/network/ lib/runners/ lib/shell-policy/ valibot leven strip-json-comments`,
  "lib/process-sandbox/": `types/ ${native} lib/runners/ lib/runtime/`,
  "lib/project/": `types/ ${native} lib/audit-log/ lib/network/ lib/home-lists lib/homes lib/protected-names lib/runners/ lib/runtime/config/ lib/runtime/diagnosis/`,
  "lib/skills/guest/": "",
  "lib/skills/": `types/ ${native} lib/homes lib/runners/ lib/runtime/ lib/skills/ valibot`,
  // Names of files and commands are shown to people here, too.
  "lib/mcp/":
    "types/ lib/errors lib/shell-quote lib/runners/transactions/transaction-error lib/cli/transactions/visible-text lib/cli/transactions/change-text " +
    "@modelcontextprotocol/server @modelcontextprotocol/server/stdio valibot @valibot/to-json-schema",
  "lib/review/": "types/ lib/errors lib/fields lib/runners/ valibot",
  "lib/remote/policy/": `types/ ${native} lib/remote/token lib/network/ lib/runners/bubblewrap lib/runtime/config/objects valibot strip-json-comments`,
  "lib/remote/token": "lib/errors",
  "lib/remote/broker-config/": "lib/errors lib/remote/token",
  "lib/remote/deferred": "",
  "lib/remote/wire/": `types/ ${native} lib/remote/token lib/remote/workspace/ lib/runners/ valibot`,
  "lib/remote/worker/": `types/ ${native} lib/remote/broker/ lib/remote/deferred lib/remote/policy/ lib/remote/token lib/remote/wire/ lib/remote/workspace/ lib/runners/`,
  "lib/remote/caller/": `types/ ${native} lib/remote/broker/ lib/remote/deferred lib/remote/token lib/remote/wire/ lib/remote/workspace/ lib/runners/`,
  "lib/remote/broker/": `types/ ${native} @nats-io/transport-node`,
  // Of the SDKs but MCP's only types.
  "lib/adapters/":
    "types/ lib/errors lib/fields lib/nearest lib/runners/ lib/mcp/ lib/remote/caller/ @modelcontextprotocol/server ai @openai/agents",
  "lib/remote/workspace/": `types/ ${native} lib/runners/ valibot`,
  "lib/cli/":
    `types/ ${native} lib/audit-log/ lib/denials/ lib/network/ lib/package-version lib/runners/ lib/runtime/ lib/project/ lib/shell-quote lib/shell-policy/verdict lib/skills/ lib/mcp/ lib/review/ lib/remote/ ` +
    "commander picocolors cli-table3 @nats-io/transport-node",
};
