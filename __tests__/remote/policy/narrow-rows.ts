/** What is asked for under which ceiling, and what comes of it. */

const kMounts = [
  { hostPath: "/srv/cache", mode: "rw" },
  { hostPath: "/srv/data", guestPath: "/data", mode: "ro", label: "data" },
];

/** Of one ceiling. */
export type Row = {
  /** The ceiling has it; {} is the default ceiling. */
  policy?: object;
  /** Let through, with what the runner then gets of it. */
  allowed: [asked: object, got: object][];
  /** Refused, with the field that is named. */
  refused: [asked: object, field: string][];
};

const kRules = {
  network: {
    allow: ["a.test", "*.b.test", "c.test:8443", "*.d.test:22"],
    deny: ["bad.b.test"],
    allowPrivate: ["a.test", "10.0.0.0/8", "fd00::/8"],
  },
};
const kNoMore = { deny: [], allowPrivate: [] };
const kOfWorker = ["127.0.0.1:5432", "[::1]:6379"];
const rules = (allow: string[], more: object = {}) => ({ network: { allow, ...more } });
const kKept = { deny: ["bad.b.test"], allowPrivate: [] };

export const kRows: Record<string, Row> = {
  "network, denied": {
    allowed: [
      [{}, { network: "deny" }],
      [{ network: "deny" }, { network: "deny" }],
    ],
    refused: [
      [{ network: "allow" }, "network"],
      [rules([]), "network"],
      [{ network: { presets: ["npm"] } }, "network"],
      [{ network: { hostPorts: [5432] } }, "network"],
    ],
  },
  home: {
    policy: { home: "private" },
    allowed: [
      [{}, { home: "private" }],
      [{ home: "private" }, { home: "private" }],
      [{ home: "none" }, { home: "none" }],
    ],
    refused: [
      [{ home: "kept" }, "home"],
      [{ home: { directory: "/srv/home" } }, "home"],
    ],
  },
  "the worker's own root": {
    allowed: [[{}, { root: undefined }]],
    refused: [
      [{ root: { directory: "/srv/root" } }, "root"],
      [{ root: { image: "a.test/x:1" } }, "root"],
    ],
  },
  "another root": {
    policy: { root: { image: "a.test/x:1", env: true } },
    allowed: [
      [{}, { root: { image: "a.test/x:1", env: true } }],
      [{ root: { image: "a.test/x:1", env: true } }, { root: { image: "a.test/x:1", env: true } }],
      [{ tools: "none" }, { tools: "none" }],
    ],
    refused: [
      [{ root: { image: "a.test/x:1" } }, "root"],
      [{ root: { image: "a.test/x:2", env: true } }, "root"],
      [{ root: { directory: "/srv/root" } }, "root"],
      [{ root: {} }, "root.directory"],
      [{ root: { image: "a.test/x:1", evn: true } }, "root.evn"],
      [{ roBinds: ["/usr"] }, "roBinds[0]"],
    ],
  },
  "a kept home": {
    policy: { home: "kept" },
    allowed: [
      [{}, { home: "kept" }],
      [{ home: "private" }, { home: "private" }],
      [{ home: "none" }, { home: "none" }],
    ],
    refused: [[{ home: { directory: "/srv/home" } }, "home"]],
  },
  "a home of the operator's choice": {
    policy: { home: { directory: "/srv/home" } },
    allowed: [
      [{}, { home: { directory: "/srv/home" } }],
      [{ home: { directory: "/srv/home" } }, { home: { directory: "/srv/home" } }],
      [{ home: "private" }, { home: "private" }],
    ],
    refused: [
      [{ home: { directory: "/srv" } }, "home"],
      [{ home: "kept" }, "home"],
    ],
  },
  "no home": {
    policy: { home: "none" },
    allowed: [[{ home: "none" }, { home: "none" }]],
    refused: [[{ home: "private" }, "home"]],
  },
  "no tools unless the policy has them": {
    allowed: [
      [{}, { tools: "none" }],
      [{ tools: "none" }, { tools: "none" }],
    ],
    refused: [
      [{ tools: "host" }, "tools"],
      [{ tools: { paths: ["/root/.ssh"] } }, "tools"],
    ],
  },
  tools: {
    policy: { tools: "host" },
    allowed: [
      [{}, { tools: "host" }],
      [{ tools: "host" }, { tools: "host" }],
      [{ tools: "none" }, { tools: "none" }],
    ],
    refused: [[{ tools: { paths: ["/opt/zig"] } }, "tools"]],
  },
  "no caches unless the policy has them": {
    allowed: [
      [{}, { caches: "none" }],
      [{ caches: "none" }, { caches: "none" }],
    ],
    refused: [
      [{ caches: "host" }, "caches"],
      [{ caches: ["npm"] }, "caches"],
    ],
  },
  "all caches": {
    policy: { caches: "host" },
    allowed: [
      [{}, { caches: "host" }],
      [{ caches: ["npm"] }, { caches: ["npm"] }],
      [{ caches: "none" }, { caches: "none" }],
      [{ home: "none" }, { home: "none", caches: "none" }],
    ],
    refused: [[{ caches: ["nmp"] }, "caches[0]"]],
  },
  "some caches": {
    policy: { caches: ["npm", "pip"] },
    allowed: [
      [{}, { caches: ["npm", "pip"] }],
      [{ caches: ["pip"] }, { caches: ["pip"] }],
      [{ caches: "none" }, { caches: "none" }],
    ],
    refused: [
      [{ caches: "host" }, "caches"],
      [{ caches: ["npm", "cargo"] }, "caches"],
    ],
  },
  "network, allowed": {
    policy: { network: "allow" },
    allowed: [
      [{}, { network: "allow" }],
      [{ network: "deny" }, { network: "deny" }],
      [
        rules(["X.test.:443"], { allowPrivate: ["127.0.0.1"] }),
        { network: { allow: ["x.test:443"], deny: [], allowPrivate: ["127.0.0.1"] } },
      ],
    ],
    refused: [
      [rules(["http://a.test"]), "network.allow[0]"],
      [rules([], { deny: ["a.test", "1.2.3.4"] }), "network.deny[1]"],
      [rules([], { allowPrivate: ["a.test:80"] }), "network.allowPrivate[0]"],
    ],
  },
  "network, by domain": {
    policy: kRules,
    allowed: [
      [{}, kRules],
      [{ network: "deny" }, { network: "deny" }],
      [rules([]), { network: { allow: [], ...kKept } }],
      [rules(["a.test"]), { network: { allow: ["a.test"], ...kKept } }],
      [rules(["A.TEST.:80"]), { network: { allow: ["a.test:80"], ...kKept } }],
      [
        rules(["x.b.test", "*.x.b.test"]),
        { network: { allow: ["x.b.test", "*.x.b.test"], ...kKept } },
      ],
      [rules(["*.b.test:443"]), { network: { allow: ["*.b.test:443"], ...kKept } }],
      [
        rules(["c.test:8443", "y.d.test:22"]),
        { network: { allow: ["c.test:8443", "y.d.test:22"], ...kKept } },
      ],
      [
        rules(["a.test"], { deny: ["bad.b.test", "x.test"] }),
        { network: { allow: ["a.test"], deny: ["bad.b.test", "x.test"], allowPrivate: [] } },
      ],
      [
        rules([], { allowPrivate: ["a.test", "10.1.0.0/16", "10.0.0.5", "FD00:1::/32"] }),
        {
          network: {
            allow: [],
            deny: ["bad.b.test"],
            allowPrivate: ["a.test", "10.1.0.0/16", "10.0.0.5", "fd00:1::/32"],
          },
        },
      ],
    ],
    refused: [
      [{ network: "allow" }, "network"],
      [rules(["other.test"]), "network.allow[0]"],
      [rules(["a.test", "x.a.test"]), "network.allow[1]"],
      [rules(["a.test:8080"]), "network.allow[0]"],
      [rules(["*.a.test"]), "network.allow[0]"],
      [rules(["b.test"]), "network.allow[0]"],
      [rules(["evilb.test"]), "network.allow[0]"],
      [rules(["*.test"]), "network.allow[0]"],
      [rules(["c.test"]), "network.allow[0]"],
      [rules(["x.d.test"]), "network.allow[0]"],
      [{ network: { presets: ["npm"] } }, "network.presets"],
      [rules(["a.test"], { allowPrivate: ["x.b.test"] }), "network.allowPrivate[0]"],
      [rules([], { allowPrivate: ["10.0.0.0/7"] }), "network.allowPrivate[0]"],
      [rules([], { allowPrivate: ["0.0.0.0/0"] }), "network.allowPrivate[0]"],
      [rules([], { allowPrivate: ["fd00::/7"] }), "network.allowPrivate[0]"],
      [rules([], { allowPrivate: ["::ffff:0:0/96"] }), "network.allowPrivate[0]"],
      [{ network: { allow: [], onRequest: "ask" } }, "network.onRequest"],
      [{ network: {} }, "network"],
    ],
  },
  "network, ports of the worker's loopback": {
    policy: { network: { hostPorts: [5432, "[::1]:6379"], allow: ["a.test"] } },
    allowed: [
      [{}, { network: { ...rules(["a.test"]).network, ...kNoMore, hostPorts: kOfWorker } }],
      [rules([]), { network: { allow: [], ...kNoMore } }],
      [
        { network: { hostPorts: ["5432", "127.0.0.1:5432", 5432] } },
        { network: { allow: [], ...kNoMore, hostPorts: [kOfWorker[0]] } },
      ],
      [
        { network: { hostPorts: ["[::1]:6379"] } },
        { network: { allow: [], ...kNoMore, hostPorts: [kOfWorker[1]] } },
      ],
      [{ network: "deny" }, { network: "deny" }],
    ],
    refused: [
      [{ network: { hostPorts: [5433] } }, "network.hostPorts[0]"],
      [{ network: { hostPorts: [5432, 6379] } }, "network.hostPorts[1]"],
      [{ network: { hostPorts: ["127.0.0.2:5432"] } }, "network.hostPorts[0]"],
      [{ network: { hostPorts: ["0.0.0.0:5432"] } }, "network.hostPorts[0]"],
      [{ network: { hostPorts: ["localhost:5432"] } }, "network.hostPorts[0]"],
      [{ network: { hostPorts: [3128] } }, "network.hostPorts[0]"],
      [{ network: { hostPorts: [5432, "127.0.0.2:5432"] } }, "network.hostPorts"],
      [{ network: { hostPorts: 5432 } }, "network.hostPorts"],
      [{ network: { hostPorts: [true] } }, "network.hostPorts[0]"],
      [{ network: { hostPorts: Array.from({ length: 65 }, () => 5432) } }, "network.hostPorts"],
      [{ network: "allow" }, "network"],
    ],
  },
  "network, without ports of the worker's": {
    policy: { network: { allow: ["a.test"] } },
    allowed: [[{ network: { hostPorts: [] } }, { network: { allow: [], ...kNoMore } }]],
    refused: [[{ network: { hostPorts: [5432] } }, "network.hostPorts[0]"]],
  },
  "network, a preset of the ceiling's": {
    policy: { network: { presets: ["npm"] } },
    allowed: [
      [
        rules(["registry.npmjs.org:443"]),
        { network: { allow: ["registry.npmjs.org:443"], deny: [], allowPrivate: [] } },
      ],
    ],
    refused: [
      [rules(["registry.npmjs.org"]), "network.allow[0]"],
      [{ network: { presets: ["npm", "pypi"] } }, "network.presets"],
    ],
  },
  roBinds: {
    allowed: [
      [{}, { roBinds: undefined }],
      [{ roBinds: [] }, { roBinds: [] }],
      [{ roBinds: ["/lib/", "//usr"] }, { roBinds: ["/usr", "/lib"] }],
    ],
    refused: [
      [{ roBinds: ["/"] }, "roBinds[0]"],
      [{ roBinds: ["/usr", "/home"] }, "roBinds[1]"],
      [{ roBinds: ["/usr/bin"] }, "roBinds[0]"], // it may be a link by then
      [{ roBinds: ["/usr/../home"] }, "roBinds[0]"],
      [{ roBinds: ["usr"] }, "roBinds[0]"],
    ],
  },
  mounts: {
    policy: { mounts: kMounts },
    allowed: [
      [{}, { mounts: kMounts }],
      [{ mounts: [] }, { mounts: [] }],
      [
        {
          mounts: [
            { hostPath: "/srv//data/", guestPath: "/data/.", mode: "ro" },
            { hostPath: "/srv/cache", mode: "ro" },
          ],
        },
        { mounts: [{ hostPath: "/srv/cache", mode: "ro" }, kMounts[1]] },
      ],
    ],
    refused: [
      [{ mounts: [{ hostPath: "/srv", mode: "ro" }] }, "mounts[0]"],
      [{ mounts: [{ hostPath: "/srv/cache/a", mode: "ro" }] }, "mounts[0]"],
      [{ mounts: [{ hostPath: "/srv/cache", guestPath: "/usr", mode: "ro" }] }, "mounts[0]"],
      [{ mounts: [{ hostPath: "/srv/data", mode: "ro" }] }, "mounts[0]"],
      [{ mounts: [{ hostPath: "/srv/data", guestPath: "/data", mode: "rw" }] }, "mounts[0].mode"],
      [{ mounts: [kMounts[0], kMounts[0]] }, "mounts[1]"],
      [{ mounts: [{ hostPath: "/srv/cache", mode: "rw", guest: "/x" }] }, "mounts[0].guest"],
    ],
  },
  devices: {
    policy: { devices: ["nvidia", "/dev/kvm"] },
    allowed: [
      [{}, { devices: ["nvidia", "/dev/kvm"] }],
      [{ devices: [] }, { devices: [] }],
      [{ devices: ["/dev/kvm"] }, { devices: ["/dev/kvm"] }],
      [{ devices: ["nvidia:1"] }, { devices: ["nvidia:1"] }],
    ],
    refused: [
      [{ devices: ["/dev/kvm", "fuse"] }, "devices[1]"],
      [{ devices: ["kvm"] }, "devices[0]"], // another name of it
      [{ devices: ["nvidia:1x"] }, "devices[0]"],
      [{ devices: ["/dev/nvidia0"] }, "devices[0]"],
      [{ devices: ["a\0b"] }, "devices[0]"],
    ],
  },
  "devices of one GPU": {
    policy: { devices: ["nvidia:0"] },
    allowed: [[{ devices: ["nvidia:0"] }, { devices: ["nvidia:0"] }]],
    refused: [
      [{ devices: ["nvidia"] }, "devices[0]"],
      [{ devices: ["nvidia:1"] }, "devices[0]"],
    ],
  },
  "no devices": {
    allowed: [[{}, { devices: [] }]],
    refused: [[{ devices: ["/dev/null"] }, "devices[0]"]],
  },
  "mounts that hide": {
    policy: {
      mounts: [
        { hostPath: "/srv/empty", guestPath: "/etc/ssh", mode: "ro" },
        { hostPath: "/srv/cache", mode: "rw" },
        { hostPath: "/srv/empty", guestPath: "/workspace/.git", mode: "ro" },
      ],
    },
    allowed: [
      [
        { mounts: [] },
        {
          mounts: [
            { hostPath: "/srv/empty", guestPath: "/etc/ssh", mode: "ro" },
            { hostPath: "/srv/empty", guestPath: "/workspace/.git", mode: "ro" },
          ],
        },
      ],
    ],
    refused: [[{ mounts: [{ hostPath: "/srv/empty", mode: "ro" }] }, "mounts[0]"]],
  },
  "envPolicy, scrub": {
    allowed: [
      [{ envPolicy: "scrub" }, { envPolicy: "scrub" }],
      [{ envPolicy: "clean" }, { envPolicy: "clean" }],
      [{ envPolicy: [] }, { envPolicy: [] }],
    ],
    refused: [
      [{ envPolicy: "inherit" }, "envPolicy"],
      [{ envPolicy: ["AWS_SECRET_ACCESS_KEY"] }, "envPolicy"],
      [{ envPolicy: ["PATH"] }, "envPolicy"],
    ],
  },
  "envPolicy, clean": {
    policy: { envPolicy: "clean" },
    allowed: [[{}, { envPolicy: "clean" }]],
    refused: [
      [{ envPolicy: "scrub" }, "envPolicy"],
      [{ envPolicy: ["PATH"] }, "envPolicy"],
    ],
  },
  "envPolicy, names": {
    policy: { envPolicy: ["PATH", "HOME"] },
    allowed: [
      [{ envPolicy: ["HOME"] }, { envPolicy: ["HOME"] }],
      [{ envPolicy: "clean" }, { envPolicy: "clean" }],
    ],
    refused: [
      [{ envPolicy: ["PATH", "USER"] }, "envPolicy[1]"],
      [{ envPolicy: "scrub" }, "envPolicy"],
      [{ envPolicy: "inherit" }, "envPolicy"],
    ],
  },
  "envPolicy, inherit": {
    policy: { envPolicy: "inherit" },
    allowed: [
      [{ envPolicy: ["ANY"] }, { envPolicy: ["ANY"] }],
      [{ envPolicy: "scrub" }, { envPolicy: "scrub" }],
    ],
    refused: [[{ envPolicy: "all" }, "envPolicy"]],
  },
  "isolation, strict": {
    allowed: [[{ isolation: "strict" }, { isolation: "strict" }]],
    refused: [[{ isolation: "compat" }, "isolation"]],
  },
  "isolation, compat": {
    policy: { isolation: "compat" },
    allowed: [
      [{}, { isolation: "compat" }],
      [{ isolation: "strict" }, { isolation: "strict" }],
    ],
    refused: [[{ isolation: "none" }, "isolation"]],
  },
  "layers and required add": {
    policy: { required: ["seccomp"] },
    allowed: [
      [
        { layers: ["landlock"], required: [] },
        { layers: ["landlock"], required: ["seccomp"] },
      ],
      [{ required: ["cgroup", "seccomp"] }, { layers: [], required: ["seccomp", "cgroup"] }],
    ],
    refused: [[{ layers: ["landlok"] }, "layers[0]"]],
  },
  "layers of the ceiling's stay": {
    policy: { layers: ["landlock"] },
    allowed: [[{ layers: [] }, { layers: ["landlock"] }]],
    refused: [[{ layers: "landlock" }, "layers"]],
  },
  "what may be on": {
    allowed: [
      [
        { allowWriteWorkspace: false, devBind: false, procBind: false, clone: "never" },
        { allowWriteWorkspace: false, devBind: false, procBind: false, clone: "never" },
      ],
    ],
    refused: [
      [{ allowWriteWorkspace: "no" }, "allowWriteWorkspace"],
      [{ prewarm: 5 }, "prewarm"],
      [{ prewarmIdleMs: 60_001 }, "prewarmIdleMs"],
    ],
  },
  "what is off": {
    policy: {
      allowWriteWorkspace: false,
      devBind: false,
      procBind: false,
      clone: "never",
      prewarm: 2,
      prewarmIdleMs: 1000,
    },
    allowed: [
      [
        { prewarm: 2, prewarmIdleMs: 999 },
        { devBind: false, prewarm: 2, prewarmIdleMs: 999 },
      ],
      [{}, { allowWriteWorkspace: false, clone: "never", prewarm: 2, prewarmIdleMs: 1000 }],
    ],
    refused: [
      [{ allowWriteWorkspace: true }, "allowWriteWorkspace"],
      [{ devBind: true }, "devBind"],
      [{ procBind: true }, "procBind"],
      [{ clone: "auto" }, "clone"],
      [{ prewarm: 3 }, "prewarm"],
      [{ prewarmIdleMs: 1001 }, "prewarmIdleMs"],
    ],
  },
  "what is not a caller's": {
    policy: { bwrapPath: "/opt/bwrap" },
    allowed: [[{ bwrapPath: undefined }, { bwrapPath: "/opt/bwrap" }]],
    refused: [
      [{ bwrapPath: "/opt/bwrap" }, "bwrapPath"],
      [{ extraArgs: [] }, "extraArgs"],
      [{ shadowDir: "/" }, "shadowDir"],
      [JSON.parse('{"__proto__":{"network":"allow"}}'), "__proto__"],
      [{ slots: 5 }, "slots"],
      [{ netwrok: "deny" }, "netwrok"],
    ],
  },
};
