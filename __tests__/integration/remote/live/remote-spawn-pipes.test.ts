/** What spawn/spawn-pipes.test.ts says of live processes holds for those on another machine. */

import "../support/remote-rows.js";
import "../../spawn/spawn-pipes.test.js";
