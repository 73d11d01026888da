/** What session/session-batch.test.ts says of sessions holds for those on another machine. */

import "../support/remote-rows.js";
import "../../session/session-batch.test.js";
