/** What spawn/wait-for-port.test.ts says of live processes holds for those on another machine. */

import "../support/remote-rows.js";
import "../../spawn/wait-for-port.test.js";
