// A file that an emulated machine has as a disk: an ext4 file system with the content of a directory.
import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { runQuietly } from "../../lib/run.mjs";

const kMiB = 1024 ** 2;
const kFreeMiB = 512; // what the guest may write
/** What kernels before 6 can't mount, which newer programs make by default. */
const kWithout = "^orphan_file,^metadata_csum_seed";

function bytesBelow(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const sizes = entries.map((entry) =>
    entry.isFile() ? statSync(path.join(entry.parentPath, entry.name)).size : 0,
  );
  const kEntryBytes = 4096; // and what it takes to have one
  return sizes.reduce((sum, size) => sum + size + kEntryBytes, 0);
}

export function makeDisk(directory, file) {
  const mebibytes = Math.ceil((bytesBelow(directory) * 1.15) / kMiB) + kFreeMiB;
  if (existsSync(file)) rmSync(file);
  writeFileSync(file, "");
  truncateSync(file, mebibytes * kMiB);
  runQuietly("mke2fs", ["-q", "-t", "ext4", "-O", kWithout, "-d", directory, file]);
  return file;
}
