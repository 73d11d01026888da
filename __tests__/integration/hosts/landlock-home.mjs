// Runs a command under Landlock that says where its home is and does not end: WORKSPACE.
import { LandlockNativeRunner } from "../../../dist/index.js";

const [shadowDir] = process.argv.slice(2);
const runner = new LandlockNativeRunner({ shadowDir });
await runner.exec({
  argv: ["sh", "-c", 'mkdir -p ~/a/b && touch ~/a/b/c && echo "$HOME" && exec sleep 1000'],
  onStdout: (chunk) => process.stdout.write(chunk),
});
