// clang-format over native/; --write formats instead of complaining.
import { nativeFiles } from "../lib/native-sources.mjs";
import { tryRun } from "../lib/run.mjs";

const mode = process.argv.includes("--write") ? ["-i"] : ["--dry-run", "-Werror"];
process.exitCode = tryRun("clang-format", [...mode, "--style=file", ...nativeFiles()]);
