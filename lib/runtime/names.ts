/** The runtimes' names, as configuration and reports spell them. */

/** A way to run commands. "native" supervises and does not confine. */
export type RuntimeName = "bubblewrap" | "landlock" | "firejail" | "native";

/** What can be asked for. */
export type RuntimeType = RuntimeName | "auto";

/** What "auto" tries, the strongest first. */
export const kConfiningNames = ["bubblewrap", "landlock", "firejail"] as const;

/** All runtimes, in the order of reports. */
export const kRuntimeNames: readonly RuntimeName[] = [...kConfiningNames, "native"];

/** All values of `runtimeType`. */
export const kRuntimeTypes = ["auto", ...kConfiningNames, "native"] as const;
