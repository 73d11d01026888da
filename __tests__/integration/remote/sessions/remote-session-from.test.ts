/** What session/session-from.test.ts says of sessions holds for those on another machine. */

import "../support/remote-rows.js";
import "../../session/session-from.test.js";
