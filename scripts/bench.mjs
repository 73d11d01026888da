// npm run bench: our runs against a C floor, child_process, execa and, where `npm run bench:peers` has
// installed them, other sandbox tools; see bench/suite.mjs. Sets up what is missing first.
import { bootstrap } from "./lib/run.mjs";

bootstrap();

// Needs what bootstrap has just installed and built.
const { main } = await import("../bench/suite.mjs");
process.exitCode = await main(process.argv.slice(2));
