// In a sandbox: sends 100 messages to the gRPC server argv[2] and says how many came back; by TLS and with a token where
// API_TOKEN is set.
import grpc from "@grpc/grpc-js";
import { kEcho } from "./echo-service.mjs";

const Client = grpc.makeGenericClientConstructor(kEcho, "Echo");
const { API_TOKEN: token } = process.env;
const { createInsecure, createSsl } = grpc.credentials;
const client = new Client(process.argv[2], token === undefined ? createInsecure() : createSsl());
const metadata = new grpc.Metadata();
if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
const call = client.echo(metadata);
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
