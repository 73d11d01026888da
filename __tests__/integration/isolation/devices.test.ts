// As root too: root makes real nodes, of which it is the owner.
/**
 * The option `devices`, on a host whose /dev is one of its own. Root makes the nodes in it; for an ordinary user they
 * are binds of the host's nodes at other names. Reading zeros from `made` is how a command shows that it has it.
 */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { toldByLimitedHost, whyNoLimitedHost } from "../support/limited-host.js";
import { kPlace } from "../support/mounts.js";
import { BubblewrapNativeRunner, LandlockNativeRunner } from "../support/package.js";
import {
  describeSandboxed,
  describeUnless,
  isRoot,
  testUnless,
  whyNoBindFd,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kWaysUrl = new URL("../hosts/devices.mjs", import.meta.url).href;

/** Makes a node of the numbers of another: `node made zero 1 5`. */
const kNode = isRoot
  ? 'node() { rm -f "/dev/$1"; mknod -m 666 "/dev/$1" c "$3" "$4"; }'
  : 'node() { : > "/dev/$1" && mount --bind "/mnt/$2" "/dev/$1"; }';

/** Puts a /dev in the host's place. The host's own is then at /mnt. */
const kOwnDev = `
  mount --rbind /dev /mnt
  mount -t tmpfs -o mode=755 tmpfs /dev
  mount --make-shared /dev
  for each in null zero full random urandom tty; do : > /dev/$each; mount --bind /mnt/$each /dev/$each; done
  mkdir /dev/pts /dev/shm /dev/directory
  mount --rbind /mnt/pts /dev/pts; chmod 1777 /dev/shm
  ln -s pts/ptmx /dev/ptmx
  ${kNode}
  node made zero 1 5; node other zero 1 5
  node log kmsg 1 11
  ln -s made /dev/linked; ln -s /etc/passwd /dev/outside; ln -s null /dev/to-null
  mkfifo /dev/fifo; echo text > /dev/file
  ${isRoot ? "mknod /dev/block b 7 9; mknod -m 660 /dev/others c 1 5; chown 12345:12345 /dev/others" : ""}`;

/** Nodes with the names of GPUs', and the parts of /sys that go with them. They are zeros: no driver is behind them. */
const kFamilyNodes = `
  mkdir /dev/dri
  for each in nvidiactl nvidia-uvm nvidia-uvm-tools nvidia-modeset nvidia0 nvidia1 nvidia-caps0 kfd dri/renderD128 dri/card0; do
    node $each zero 1 5
  done
  mount -t tmpfs tmpfs /sys
  mkdir -p /sys/class/drm /sys/class/kfd /sys/dev/char /sys/bus/pci/drivers/nvidia /sys/devices/pci0
  cd /sys/devices/pci0
  for each in 1 2 3; do mkdir -p 0000:0$each:00.0; echo 0x1002 > 0000:0$each:00.0/vendor; done
  mkdir -p 0000:02:00.0/drm/renderD128
  ln -s ../../../0000:02:00.0 0000:02:00.0/drm/renderD128/device
  ln -s ../../devices/pci0/0000:02:00.0/drm/renderD128 /sys/class/drm/renderD128
  ln -s ../../../../devices/pci0/0000:01:00.0 /sys/bus/pci/drivers/nvidia/0000:01:00.0
  cd /`;

/** Words that run a program without privileges in there. */
const asUser = (id: number) => [
  "setpriv",
  "--reuid",
  `${id}`,
  "--regid",
  `${id}`,
  "--clear-groups",
];
const kAsUser = isRoot ? asUser(61998) : ["unshare", "-U", "--map-user=1000", "--map-group=1000"];
const kHosts: [whose: string, words: readonly string[]][] = [
  [isRoot ? "root" : "root of a user namespace", []],
  ["an ordinary user", kAsUser],
];

type End = { kind: string; reason?: string; out?: string; start?: string };

const kBoundWays = ["a prewarmed run", "a clone", "a transaction"];

/** What `script`, which has `opened` and `name`, tells of each way. */
function ofEachWay(words: readonly string[], script: string, more = "") {
  const { told, whyNoClone } = toldByLimitedHost<{
    told: Record<string, Record<string, End>>;
    whyNoClone?: string;
  }>({
    before: `${kOwnDev}\n${more}`,
    words,
    script: `
      const { kWays } = await import(${JSON.stringify(kWaysUrl)});
      const without = ${JSON.stringify(whyNoBindFd === undefined ? [] : kBoundWays)};
      let whyNoClone;
      if (!without.includes("a clone")) {
        fs.mkdirSync("/dev/shm/control");
        const control = await kWays["a clone"]({ shadowDir: "/dev/shm/control" });
        await control.warm().catch(({ message }) => { whyNoClone = message; });
        await control.close();
        if (whyNoClone !== undefined) without.push("a clone");
      }
      const told = {};
      for (const [name, open] of Object.entries(kWays)) {
        if (without.includes(name)) continue;
        const shadowDir = "/dev/shm/work" + Object.keys(told).length; // which each user can make
        fs.mkdirSync(shadowDir);
        const opened = async (devices) => open({ shadowDir, ...(devices && { devices }) });
        told[name] = await (async () => { ${script} })();
      }
      tell({ told, whyNoClone });`,
  });
  expect(Object.keys(told).length).toBeGreaterThan(7);
  // The kernel refuses a clone its /proc in some user namespaces that are not the host's.
  if (isRoot) expect(whyNoClone).toBeUndefined();
  else if (whyNoClone) process.stderr.write(`skipped: devices of a clone: ${whyNoClone}\n`);
  return told;
}

const kRead = "head -c 2 /dev/made | wc -c; echo text > /dev/made && echo wrote";
const kChange =
  "chmod 0600 /dev/made && echo chmod; chown 0:5 /dev/made && echo chown; touch -d @1 /dev/made && echo touch; true";

describeUnless(whyNoLimitedHost, "devices of a host", () => {
  describe.each(kHosts)("of %s", (_, words) => {
    test("are there when they are named, and no others", () => {
      const told = ofEachWay(
        words,
        `
        const before = fs.statSync("/dev/made");
        const named = await opened(["/dev/made"]);
        if (named.warm) await named.warm();
        const read = await named.exec(${JSON.stringify(kRead)});
        const other = await named.exec(": < /dev/other && echo there; true");
        const change = name.includes("Landlock alone") ? { out: "" } : await named.exec(${JSON.stringify(kChange)});
        await named.close();
        const { mode, mtimeMs, uid, gid } = fs.statSync("/dev/made");
        const same = mode === before.mode && mtimeMs === before.mtimeMs && uid === before.uid && gid === before.gid;
        const none = await opened();
        const control = await none.exec(": < /dev/made && echo there; true");
        await none.close();
        return { read, other, change, control, same: { kind: String(same) } };`,
      );
      for (const [name, ends] of Object.entries(told)) {
        expect.soft(ends.read, name).toMatchObject({ kind: "exited", out: "2\nwrote" });
        // A bind is the node that it binds, to Landlock, and every command may use that.
        if (!isRoot && name === "a run with Landlock alone") continue;
        expect.soft(ends.other, name).toMatchObject({ kind: "exited", out: "" });
        expect.soft(ends.change?.out, name).toBe("");
        expect.soft(ends.control, name).toMatchObject({ kind: "exited", out: "" });
        expect.soft(ends.same?.kind, name).toBe("true");
      }
      if (whyNoBindFd !== undefined) return;
      expect(told["a prewarmed run"]?.read?.start).toBe("prewarmed");
      expect(told["a clone"]?.read?.start ?? "cloned").toBe("cloned");
    });

    test("that are missing fail the set-up", () => {
      const told = ofEachWay(
        words,
        `
        const opening = await opened(["/dev/made", "/dev/none"]);
        const end = await opening.exec("echo ran");
        await opening.close();
        return { end };`,
      );
      for (const [name, { end }] of Object.entries(told)) {
        expect.soft(end?.kind, name).toMatch(/^(setup-failed|ERR_SANDBOX_SETUP)$/);
        expect
          .soft(end?.reason, name)
          .toContain('devices[1] names "/dev/none", which this host lacks');
        expect.soft(end?.out ?? "", name).toBe("");
      }
    });

    test("that go away fail later runs, and others that take their names are seen", () => {
      const remove = isRoot ? "rm /dev/made" : "umount /dev/made && rm /dev/made";
      const told = ofEachWay(
        words,
        `
        const ask = async (what) => {
          fs.writeFileSync("/dev/shm/" + what, "");
          while (fs.existsSync("/dev/shm/" + what)) await new Promise((go) => setTimeout(go, 5));
        };
        const read = "head -c 2 /dev/made | wc -c; (echo text > /dev/made) 2>&- || echo full";
        const way = await opened(["/dev/made"]);
        if (way.warm) await way.warm();
        const first = await way.exec(read);
        await ask("remove");
        const gone = await way.exec("echo ran");
        await ask("full");
        const full = await way.exec(read);
        await ask("remove");
        await ask("zero");
        await way.close();
        return { first, gone, full };`,
        // Root of the mount namespace does it, as udev would; it ends with the namespace.
        `(set +e; cd /dev/shm; while sleep 0.01; do
          [ -e remove ] && { ${remove}; rm remove; }
          [ -e full ] && { node made full 1 7; rm full; }
          [ -e zero ] && { node made zero 1 5; rm zero; }
        done) > /dev/null 2>&1 < /dev/null &`,
      );
      for (const [name, { first, gone, full }] of Object.entries(told)) {
        expect.soft(first, name).toMatchObject({ kind: "exited", out: "2" });
        expect.soft(gone?.kind, name).toMatch(/^(setup-failed|ERR_SANDBOX_SETUP)$/);
        expect.soft(gone?.reason, name).toContain("/dev/made");
        expect.soft(full, name).toMatchObject({ kind: "exited", out: "2\nfull" });
      }
    });

    test("are refused with the reason", () => {
      const kRefused: Record<string, string> = {
        "/dev/directory": "is a directory",
        "/dev/fifo": "is a FIFO",
        "/dev/file": "is a regular file",
        "/dev/outside": 'leads to "/etc/passwd", not below /dev',
        "/dev/log": "is the kernel's log",
        "/dev/made/below": "this host lacks",
        ...(isRoot && { "/dev/block": "is a block device" }),
        ...(isRoot && { "/dev/others": "commands of this user can't open: its owner is user " }),
      };
      const told = toldByLimitedHost<Record<string, End[]>>({
        before: kOwnDev,
        words,
        script: `
          const { kWays } = await import(${JSON.stringify(kWaysUrl)});
          const told = {};
          for (const device of ${JSON.stringify([...Object.keys(kRefused), "/dev/made", "/dev/linked", "/dev/to-null"])}) {
            told[device] = [];
            for (const name of ["a cold run", "a run with Landlock alone"]) {
              const way = await kWays[name]({ shadowDir: workspace, devices: [device] });
              told[device].push(await way.exec(\`head -c 2 \${device} | wc -c\`));
              await way.close();
            }
          }
          tell(told);`,
      });
      for (const [device, why] of Object.entries(kRefused)) {
        for (const { kind, reason } of told[device] ?? []) {
          expect.soft(kind, device).toBe("setup-failed");
          expect.soft(reason, device).toContain(`devices[0] names "${device}", which ${why}`);
        }
      }
      for (const device of ["/dev/made", "/dev/linked"]) {
        expect(told[device]).toMatchObject([{ out: "2" }, { out: "2" }]);
      }
      expect(told["/dev/to-null"]).toMatchObject([{ out: "0" }, { out: "0" }]);
    });
  });

  test.each(kHosts)(
    "of a family are its nodes, and what its programs read of /sys, for %s",
    (_, words) => {
      const told = toldByLimitedHost<
        Record<string, { shown: string[]; link: string; written: string }>
      >({
        before: `${kOwnDev}\n${kFamilyNodes}`,
        words,
        script: `
        const { kWays } = await import(${JSON.stringify(kWaysUrl)});
        const told = {};
        for (const family of ["nvidia", "nvidia:1", "dri", "kfd"]) {
          const shadowDir = "/dev/shm/" + family;
          fs.mkdirSync(shadowDir);
          const way = await kWays["a cold run"]({ shadowDir, devices: [family] });
          const own = await kWays["a cold run"]({ shadowDir });
          const list = "for each in /dev/* /dev/*/*; do [ -c $each ] && echo $each; done; find /sys -name vendor 2> /dev/null; true";
          const lines = async (from) => (await from.exec(list)).out.split("\\n");
          const before = await lines(own);
          const { out: link } = await way.exec("cat /sys/class/drm/renderD128/device/vendor 2> /dev/null; true");
          const { out: written } = await way.exec("for each in $(find /sys -name vendor 2> /dev/null); do echo x > $each && echo wrote; done 2> /dev/null; true");
          told[family] = { shown: (await lines(way)).filter((line) => !before.includes(line)).sort(), link, written };
          await way.close();
          await own.close();
        }
        tell(told);`,
      });
      const common = ["nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools"];
      const dev = (...names: string[]) => names.map((name) => `/dev/${name}`).sort();
      const nvidia = (...gpus: string[]) => [
        ...dev(...common, "nvidiactl", ...gpus),
        "/sys/devices/pci0/0000:01:00.0/vendor",
      ];
      const render = "/sys/devices/pci0/0000:02:00.0/vendor";
      expect(told).toEqual({
        nvidia: { shown: nvidia("nvidia0", "nvidia1"), link: "", written: "" },
        "nvidia:1": { shown: nvidia("nvidia1"), link: "", written: "" },
        dri: { shown: [...dev("dri/renderD128"), render], link: "0x1002", written: "" },
        kfd: { shown: [...dev("dri/renderD128", "kfd"), render], link: "0x1002", written: "" },
      });
    },
  );

  test("whose driver names threads let a session's commands do that too", () => {
    const told = toldByLimitedHost<{ end: End; control: End; layers: string[] }>({
      before: `${kOwnDev}\n${kFamilyNodes}`,
      words: kAsUser, // root's /proc is read-only
      script: `
        const { kWays } = await import(${JSON.stringify(kWaysUrl)});
        fs.mkdirSync("/dev/shm/work");
        const name = "sh -c 'echo named > /proc/self/task/$$/comm && cat /proc/$$/comm' 2>&1; true";
        const end = async (devices) => {
          const way = await kWays["a session"]({ shadowDir: "/dev/shm/work", devices });
          const told = await way.exec(name);
          await way.close();
          return told;
        };
        const session = await new BubblewrapNativeRunner({ shadowDir: "/dev/shm/work" }).openSession();
        const { layers } = await exec(session, "true");
        await session.close();
        tell({ end: await end(["nvidia"]), control: await end([]), layers });`,
    });
    expect(told.end).toMatchObject({ kind: "exited", out: "named" });
    const isSeparated = told.layers.includes("command-separation");
    expect(told.control.out).toMatch(isSeparated ? /Permission denied/ : /^named$/);
  });

  testUnless(
    isRoot ? undefined : "only root can give a user a node",
    "of the user itself can't be changed by the user's commands",
    () => {
      const told = ofEachWay(
        asUser(61999),
        `
        if (name.includes("Landlock alone")) return {}; // it has no mounts
        const way = await opened(["/dev/made"]);
        if (way.warm) await way.warm();
        const read = await way.exec(${JSON.stringify(kRead)});
        const change = await way.exec(${JSON.stringify(kChange)});
        await way.close();
        const control = plain("chmod", "0640", "/dev/made");
        const restored = plain("chmod", "0600", "/dev/made");
        return { read, change, control: { kind: String(control.status + restored.status) } };`,
        "chmod 600 /dev/made; chown 61999 /dev/made",
      );
      for (const [name, { read, change, control }] of Object.entries(told)) {
        if (read === undefined) continue;
        expect.soft(read, name).toMatchObject({ kind: "exited", out: "2\nwrote" });
        expect.soft(change?.out, name).toBe("");
        expect.soft(control?.kind, name).toBe("0");
      }
    },
  );
});

function whyNotOpened(path: string): string | undefined {
  if (!existsSync(path) || !statSync(path).isCharacterDevice()) return `this host has no ${path}`;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    return `this user can't open ${path}`;
  }
}

const kFeatures = `import fcntl, os, struct
tun = os.open("/dev/net/tun", os.O_RDWR)
print(struct.unpack("I", fcntl.ioctl(tun, 0x800454cf, bytes(4)))[0] & 1)`;
const kPair = `import os
first = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
print(os.write(first, b"text"))`;
const kOpen = (path: string) => `import os
print(os.open(${JSON.stringify(path)}, os.O_RDWR) > 2)`;

describeSandboxed("real devices of this host", () => {
  const kDevices: [entry: string, path: string, script: string, out: string][] = [
    ["fuse", "/dev/fuse", kOpen("/dev/fuse"), "True\n"],
    ["tun", "/dev/net/tun", kFeatures, "1\n"],
    ["kvm", "/dev/kvm", kOpen("/dev/kvm"), "True\n"],
    ["/dev/ptmx", "/dev/ptmx", kPair, "4\n"],
  ];
  for (const [entry, path, script, out] of kDevices) {
    testUnless(whyNotOpened(path), `${path} works as ${entry}`, async () => {
      const shadowDir = tempDirectory("work", kPlace);
      const input = { argv: ["python3", "-c", script] };
      for (const Runner of [BubblewrapNativeRunner, LandlockNativeRunner]) {
        const named = await new Runner({ shadowDir, devices: [entry] }).exec(input);
        expect(named).toMatchObject({ stdoutText: out, exitCode: 0 });
        const control = await new Runner({ shadowDir }).exec(input);
        const isOwn = path === "/dev/ptmx" && Runner === BubblewrapNativeRunner;
        expect(control.exitCode).toBe(isOwn ? 0 : 1);
      }
    });
  }

  const kMissing: [entry: string, path: string][] = [
    ["nvidia", "/dev/nvidiactl"],
    ["nvidia:3", "/dev/nvidiactl"],
    ["dri", "/dev/dri"],
    ["kfd", "/dev/kfd"],
  ];
  for (const [entry, path] of kMissing) {
    testUnless(
      existsSync(path) ? `this host has ${path}` : undefined,
      `${entry} fails the set-up where there is none, and nothing runs`,
      async () => {
        const shadowDir = tempDirectory("work", kPlace);
        const runner = new BubblewrapNativeRunner({ shadowDir, devices: [entry] });
        const { outcome } = await runner.exec({ argv: ["touch", "ran"] });
        expect(outcome).toMatchObject({
          kind: "setup-failed",
          reason: expect.stringContaining(`devices[0] names "${entry}" with ${path}`),
          fix: expect.stringMatching(/^load .*, or remove it from devices$/),
        });
        expect(existsSync(`${shadowDir}/ran`)).toBe(false);
      },
    );
  }

  test("are checked as far as that needs no host", () => {
    const shadowDir = tempDirectory("work", kPlace);
    const make = (device: string, options = {}) => {
      return () => new BubblewrapNativeRunner({ shadowDir, devices: [device], ...options });
    };
    const wanted =
      'a path below /dev, or "nvidia", "nvidia:N", "dri", "kfd", "kvm", "fuse" or "tun"';
    for (const device of [
      "cuda",
      "",
      "dri:0",
      "nvidia:",
      "nvidia:x",
      "/etc/passwd",
      "/dev",
      "dev/kvm",
    ]) {
      expect(make(device)).toThrow(`Expected \`devices[0]\` to be ${wanted}, got "${device}"`);
    }
    expect(make("/dev/../etc/passwd")).toThrow("Expected `devices[0]` to be a path without '..'");
    expect(make("/dev/shm/node")).toThrow("to be a path outside of /dev/shm");
    expect(make("/dev/pts/0")).toThrow("to be a path outside of /dev/pts");
    expect(make("/dev/ptmx", { devBind: false })).toThrow("with `devBind: false`");
    expect(() => new LandlockNativeRunner({ shadowDir, devices: ["nvidia"] })).toThrow(
      "/proc/self/task/*/comm",
    );
    expect(make("nvidia:0")).not.toThrow();
  });

  test("are in the plan, the record and the policy's hash", async () => {
    const shadowDir = tempDirectory("work", kPlace);
    const runner = new BubblewrapNativeRunner({
      shadowDir,
      devices: ["/dev/full", "/dev/null"],
      devBind: false,
    });
    expect(runner.devices).toEqual(["/dev/full", "/dev/null"]);
    const { args, policyHash } = await runner.explain({ argv: ["true"] });
    expect(args.join(" ")).toContain(
      "--dev-bind /dev/full /dev/full --dev-bind /dev/null /dev/null",
    );
    const { audits } = await runner.exec({ argv: ["true"] });
    expect(audits[0]?.argv.join(" ")).toContain("--dev-bind /dev/full /dev/full");
    const other = new BubblewrapNativeRunner({ shadowDir, devices: ["/dev/full"], devBind: false });
    expect((await other.explain({ argv: ["true"] })).policyHash).not.toBe(policyHash);
  });
});
