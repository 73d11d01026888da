/** What runs/deadline.test.ts says of a runner holds for one on another machine. */

import "../support/remote-rows.js";
import "../../runs/deadline.test.js";
