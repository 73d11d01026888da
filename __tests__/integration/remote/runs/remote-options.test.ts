/** What runs/options.test.ts says of a runner holds for one on another machine. */

import "../support/remote-rows.js";
import "../../runs/options.test.js";
