/** What runs/abort.test.ts says of a runner holds for one on another machine. */

import "../support/remote-rows.js";
import "../../runs/abort.test.js";
