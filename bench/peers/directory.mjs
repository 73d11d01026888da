// Where `npm run bench:peers` puts the npm packages that ours is compared with: not below the
// package's own node_modules, nor in its lock file.

import { fileURLToPath } from "node:url";

export const kPeersDirectory = fileURLToPath(new URL("../../build/bench/peers/", import.meta.url));
