/** What a bwrap leaves out, by the options that its --help does not list. Pure. */

/** An option that a bwrap lacks, and what does not work therefore. */
export type MissingOption = { option: string; consequence: string };

/**
 * As in the native side's `BwrapFeatures`. Without --as-pid-1 bwrap is no runtime at all, which its own
 * reason and fix say.
 */
const kOptions: readonly MissingOption[] = [
  {
    option: "--bind-fd",
    consequence: "no prewarmed or cloned sandboxes, and no transactions by overlay",
  },
  {
    option: "--disable-userns",
    consequence: "no layer userns-disabled; seccomp refuses them",
  },
  { option: "--perms", consequence: "procBind: false is refused" },
  { option: "--size", consequence: "memoryBytes does not bound what /tmp holds" },
];

/** @param help what `bwrap --help` prints: distributions back-port options, so no version tells. */
export function missingBwrapOptions(help: string): MissingOption[] {
  const words = new Set(help.split(/\s+/));
  return kOptions.filter(({ option }) => !words.has(option));
}
