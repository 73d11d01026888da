/** What session/session-command.test.ts says of sessions holds for those on another machine. */

import "../support/remote-rows.js";
import "../../session/session-command.test.js";
