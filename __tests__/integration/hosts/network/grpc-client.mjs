// In a sandbox: sends 100 messages to the gRPC server argv[2] and says how many came back.
import grpc from "@grpc/grpc-js";
import { kEcho } from "./echo-service.mjs";

const Client = grpc.makeGenericClientConstructor(kEcho, "Echo");
const client = new Client(process.argv[2], grpc.credentials.createInsecure());
const call = client.echo();
let seen = 0;
call.on("data", (text) => {
  if (text === `message ${seen}`) seen += 1;
});
call.on("end", () => {
  process.stdout.write(`${seen}\n`);
  client.close();
});
for (let i = 0; i < 100; i++) call.write(`message ${i}`);
call.end();
