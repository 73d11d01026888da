/** Programs that no table knows, which the allow list has. */

import type { CarrierCase } from "./case.js";

export const kUnknownCarriers: readonly CarrierCase[] = [
  ["mytool reboot", "mytool build src"],
  ["mytool 'ls; reboot'", "mytool 'a; b'"],
  ["mytool x=reboot", "mytool x=y"],
  ["mytool run reboot now", "mytool run tests"],
  ["mytool --exec reboot", "mytool --verbose x"],
  ["mytool --exec=reboot", "mytool --format=json"],
  ["mytool -e 'reboot now'", "mytool -e prod"],
  ["mytool -- rm -rf x", "mytool -- x.txt"],
  ["mytool --shell /bin/sh", "mytool --config x.json"],
  ["mytool sh -c ls", "mytool test"],
  ["mytool with bash x", "mytool install"],
  ["mytool --hook='git push'", "mytool --message='a push'"],
  ["mytool /usr/bin/python3 x.py", "mytool /tmp/x.py"],
];
