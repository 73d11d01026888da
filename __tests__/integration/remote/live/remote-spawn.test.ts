/** What spawn/spawn.test.ts says of live processes holds for those on another machine. */

import "../support/remote-rows.js";
import "../../spawn/spawn.test.js";
