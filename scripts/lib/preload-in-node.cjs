// Required by every Node process of a sanitizer run. The sanitizer's runtime is preloaded through the
// environment, which would bring it into shells and commands under test as well (dash dies of
// ThreadSanitizer's). So both variables leave the environment as soon as a Node process has started,
// and come back for the Node processes that it starts.
const childProcess = require("node:child_process");
const { syncBuiltinESMExports } = require("node:module");

const { LD_PRELOAD, NODE_OPTIONS } = process.env;
delete process.env.LD_PRELOAD;
delete process.env.NODE_OPTIONS;
const forNode = { LD_PRELOAD, NODE_OPTIONS };

/** Node itself, one of its programs, or a wrapper that is given Node to start. */
const startsNode = (file, args) =>
  args.includes(process.execPath) || /(^|\/)node$|\.[cm]?js$/.test(file);

// spawn, execFile, exec and fork end here.
const { spawn } = childProcess.ChildProcess.prototype;
childProcess.ChildProcess.prototype.spawn = function spawnWithRuntime(options) {
  if (!startsNode(options.file, options.args)) return spawn.call(this, options);
  const named = new Set(options.envPairs.map((pair) => pair.split("=", 1)[0]));
  const added = Object.entries(forNode).filter(([name]) => !named.has(name));
  const envPairs = [...options.envPairs, ...added.map(([name, value]) => `${name}=${value}`)];
  return spawn.call(this, { ...options, envPairs });
};

for (const name of ["spawnSync", "execFileSync"]) {
  const original = childProcess[name];
  childProcess[name] = function startWithRuntime(file, ...rest) {
    const args = Array.isArray(rest[0]) ? rest[0] : [];
    if (!startsNode(file, args)) return original(file, ...rest);
    const options = (Array.isArray(rest[0]) ? rest[1] : rest[0]) ?? {};
    return original(file, args, {
      ...options,
      env: { ...forNode, ...(options.env ?? process.env) },
    });
  };
}
syncBuiltinESMExports();
