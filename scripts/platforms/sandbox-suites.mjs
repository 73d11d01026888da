// Suites of integration, as Vitest takes them.

/** Those that look at Bubblewrap's sandboxes. */
const kOfSandboxes = [
  "clones",
  "denials",
  "isolation",
  "leases",
  "network",
  "prewarm",
  "process-sandbox",
  "project",
  "promises",
  "runs",
  "session",
  "spawn",
  "transaction",
];

/** Those of a caller of remote workers, without those of the worker and the broker, which are programs of their own. */
const kOfCallers = [
  "gone",
  "hosts",
  "live",
  "runs",
  "sessions",
  "sizes",
  "transactions",
  "wire",
  "workspace",
];

const folder = (name) => `__tests__/integration/${name}/`;

export const kSandboxSuites = kOfSandboxes.map(folder);

/**
 * Those in which the package runs commands: not those of programs that run in Node whatever starts them (the command line,
 * MCP, the review), nor what is Node's own (how it prints values, WASM skills).
 */
export const kEngineSuites = [
  ...kSandboxSuites,
  ...["audit-log", "files", "runtime", "values"].map(folder),
  ...kOfCallers.map((name) => folder(`remote/${name}`)),
];
