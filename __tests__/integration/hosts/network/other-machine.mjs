// Another machine of a test's internet, in a network namespace of its own: an HTTP server that says
// hello by the name that it is asked for. Tells of itself by writing to the FIFO argv[2].
import { writeFileSync } from "node:fs";
import http from "node:http";

const server = http.createServer(({ headers }, response) => {
  response.end(`hello from ${headers.host}\n`);
});
server.listen(80, "0.0.0.0", () => writeFileSync(process.argv[2], "\n"));
