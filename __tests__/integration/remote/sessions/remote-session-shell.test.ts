/** What session/session-shell.test.ts says of sessions holds for those on another machine. */

import "../support/remote-rows.js";
import "../../session/session-shell.test.js";
