// A kernel of Debian's for virtual machines, and what is loaded of it before there is a root.
import { readdirSync } from "node:fs";
import path from "node:path";
import { runQuietly } from "../../lib/run.mjs";
import { DebianSuite } from "../debian-suite.mjs";

/** In the order of loading. Some are built in, and some are not there, as kernels differ. */
const kModules = [
  ["virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"],
  ["vsock"], // a family of sockets that a test makes
  ["virtio_blk", "crc16", "mbcache", "jbd2", "crc32c_generic", "libcrc32c", "ext4", "overlay"],
  ["bfq"], // divides a disk by weights
].flat();

const inOrder = new Intl.Collator("en", { numeric: true }).compare;

export class Kernel {
  /** @param series such as "6.1": the newest of it that the suite has. */
  constructor(series, suiteName, arch) {
    const suite = new DebianSuite(suiteName, arch);
    const pattern = `^linux-image-${series.replaceAll(".", "\\.")}[.+-].*cloud-${arch}$`;
    const name = suite.namesLike(pattern).sort(inOrder).at(-1);
    if (name === undefined) throw new Error(`${suiteName} has no Linux ${series} for ${arch}`);
    this.arch = arch;
    this.suite = suiteName;
    this.version = suite.versionOf(name);
    // From Linux 7 on there is a package of the kernel's file, and another of its modules.
    const rest = name.replace("linux-image-", "").replaceAll(/[.+]/g, "\\$&");
    const packages = suite.namesLike(`^linux-(image|binary|modules)-${rest}$`);
    this.directories = packages.map((each) => suite.unpacked(each));
  }

  #below(pattern) {
    return this.directories.flatMap((directory) => {
      const files = readdirSync(directory, { recursive: true });
      return files.filter((file) => pattern.test(file)).map((file) => path.join(directory, file));
    });
  }

  /** The file that is booted. */
  get image() {
    return this.#below(/(^|\/)vmlinu[xz][^/]*$/)[0];
  }

  /** @returns {{ name: string, file: string }[]} in the order of loading. */
  modules() {
    const files = this.#below(/\.ko(\.xz)?$/);
    return kModules.flatMap((name) => {
      const file = files.find((each) => new RegExp(`/${name}\\.ko(\\.xz)?$`).test(each));
      return file === undefined ? [] : [{ name, file }];
    });
  }

  /** Writes a module where it is loaded from, which can't unpack it. */
  static copyModule(file, into) {
    if (file.endsWith(".xz")) runQuietly("sh", ["-c", 'xz -dc "$1" > "$2"', "sh", file, into]);
    else runQuietly("cp", [file, into]);
  }
}
