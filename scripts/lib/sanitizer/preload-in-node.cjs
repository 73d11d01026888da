// Required by every Node process of a sanitizer run. The sanitizer's runtime is preloaded through the
// environment, which would bring it into shells and commands under test as well (dash and bash die of
// ThreadSanitizer's). So its variables leave the environment as soon as a Node process has started,
// and come back for the Node processes that it starts. What starts Node in its turn, such as bwrap,
// does not get them: it is given Node together with them (__tests__/integration/support/node-arguments.ts).
const childProcess = require("node:child_process");
const { syncBuiltinESMExports } = require("node:module");

const lines = process.env.NATIVE_RUNNER_TEST_NODE_ENV.split("\n");
const forNode = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2)));
for (const name of Object.keys(forNode)) delete process.env[name];

const isNode = (file) => /(^|\/)node$|\.[cm]?js$/.test(file) || file === process.execPath;

// spawn, execFile, exec and fork end here.
const { spawn } = childProcess.ChildProcess.prototype;
childProcess.ChildProcess.prototype.spawn = function spawnWithRuntime(options) {
  if (!isNode(options.file)) return spawn.call(this, options);
  const named = new Set(options.envPairs.map((pair) => pair.split("=", 1)[0]));
  const added = Object.entries(forNode).filter(([name]) => !named.has(name));
  const envPairs = [...options.envPairs, ...added.map(([name, value]) => `${name}=${value}`)];
  return spawn.call(this, { ...options, envPairs });
};

for (const name of ["spawnSync", "execFileSync"]) {
  const original = childProcess[name];
  childProcess[name] = function startWithRuntime(file, ...rest) {
    if (!isNode(file)) return original(file, ...rest);
    const args = Array.isArray(rest[0]) ? rest[0] : [];
    const options = (Array.isArray(rest[0]) ? rest[1] : rest[0]) ?? {};
    return original(file, args, {
      ...options,
      env: { ...forNode, ...(options.env ?? process.env) },
    });
  };
}
syncBuiltinESMExports();
