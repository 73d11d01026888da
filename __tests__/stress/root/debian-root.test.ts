/** A Debian that debootstrap makes, as root file system: in each kind of run, of root and of an ordinary user. */

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

import { whyNoRoot } from "../../integration/root/made-root.js";
import { describeUnless, isRoot } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { kWayNames, withWay } from "../../integration/support/ways.js";

const kPackage = fileURLToPath(new URL("../../../dist/index.js", import.meta.url));
const kUser = 61997;
const whyNot = isRoot
  ? (whyNoRoot ??
    (spawnSync("debootstrap", ["--version"]).status === 0 ? undefined : "there is no debootstrap"))
  : "only root can run debootstrap";

/** The programs of the root work, the list of users too, and nothing can be written but what is ours. */
const kJob = `set -e
  . /etc/os-release; echo $ID
  perl -e 'print 5 * 5, "\\n"'
  dpkg-query -W -f '\${Status}\\n' bash
  whoami >/dev/null; getent passwd root | cut -d: -f1
  sort --version | sed -n 1s/.*GNU/GNU/p
  echo x > here; echo y > ~/file; echo z > /tmp/file; cat here ~/file /tmp/file
  for at in /usr/x /etc/x /var/lib/x /x; do ! touch $at; done`;
const kTold = "debian\n25\ninstall ok installed\nroot\nGNU coreutils)";

describeUnless(whyNot, "a Debian as root file system", () => {
  const root = join(tempDirectory("debian"), "root");

  beforeAll(() => {
    const made = spawnSync("debootstrap", ["--variant=minbase", "stable", root], {
      encoding: "utf8",
    });
    expect(made.stdout).toContain("Base system installed successfully");
  }, 600_000);

  test.each(kWayNames)("%s", async (name) => {
    const told = await withWay(name, { root: { directory: root } }, (way) => way.exec(kJob));
    if (name === "no home" || name === "isolation compat" || name === "no /dev") {
      expect(told.out).toContain("debian\n");
    } else {
      expect(told.out).toContain(kTold);
      expect(told.out).toContain("x\ny\nz\n");
      expect(told.out.match(/Read-only file system/g)).toHaveLength(4);
    }
  });

  test("of an ordinary user, to whom its files do not belong", () => {
    const workspace = tempDirectory();
    chownSync(workspace, kUser, kUser);
    chmodSync(join(root, ".."), 0o755);
    const script = `
      const { BubblewrapNativeRunner } = await import(${JSON.stringify(kPackage)});
      const [root, shadowDir, line] = process.argv.slice(1);
      const runner = new BubblewrapNativeRunner({ shadowDir, root: { directory: root } });
      const told = await runner.exec({ argv: ["sh", "-c", line], stderr: "merge" });
      process.stdout.write(told.stdoutText);
      await runner.close();`;
    const asUser = [
      "--reuid",
      `${kUser}`,
      "--regid",
      `${kUser}`,
      "--clear-groups",
      process.execPath,
    ];
    const words = ["--input-type=module", "-e", script, root, workspace];
    const line = `${kJob}; ! cat /etc/shadow; stat -c %U /etc/debian_version /usr here`;
    const env = { ...process.env, HOME: workspace };
    const ran = spawnSync("setpriv", [...asUser, ...words, line], { encoding: "utf8", env });
    expect(ran.stderr).toBe("");
    expect(ran.stdout).toContain(kTold);
    expect(ran.stdout).toContain("/etc/shadow: Permission denied");
    expect(ran.stdout).toMatch(/nobody\nnobody\n(?!nobody|root)\w+\n$/);
  });
});
