/** A host with a session and a transaction open, which it never closes. Says what they are, and waits. */

import { RemoteNativeRunner } from "../../../../dist/adapters/remote.js";

const { url, workspace, mark } = JSON.parse(process.argv[2] ?? "{}");
const runner = new RemoteNativeRunner({ servers: [url], insecure: true, pool: "tests", workspace });
const session = await runner.openSession();
await session.start({ argv: ["sleep", "3600"], env: { NATIVE_RUNNER_TEST_MARK: mark } });
const transaction = await runner.openTransaction({ backend: "copy" });
await transaction.exec({ argv: ["sh", "-c", "echo kept > made"] });
process.stdout.write(`${transaction.id}\n`);
setInterval(() => {}, 1_000_000);
