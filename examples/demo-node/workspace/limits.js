/**
 * What a workspace may hold. A command can fill its workspace with anything (sparse files of
 * terabytes, millions of names); the host reads all of it afterwards and must stay in bounds.
 */

const kMebibyte = 1024 ** 2;

/** Files, links and directories of one tree. */
export const kMaxEntries = 100_000;

/** Bytes of one file; larger ones are left out. Also what a command may write in one file. */
export const kMaxFileBytes = 256 * kMebibyte;

/** Bytes of all files of one tree. */
export const kMaxTreeBytes = 4096 * kMebibyte;

/** Bytes of a file that is shown as a diff; of larger ones only the size is told. */
export const kMaxDiffBytes = 1 * kMebibyte;
