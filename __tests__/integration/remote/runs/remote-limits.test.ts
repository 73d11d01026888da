/** What runs/limits.test.ts says of a runner holds for one on another machine. */

import "../support/remote-rows.js";
import "../../runs/limits.test.js";
