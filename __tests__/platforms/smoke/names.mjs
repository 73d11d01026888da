/** A network by domain: what is allowed is reached, what is not is refused and told, both ways in. */

import { expectEqual, expectTrue, shown, textOf } from "./expectations.mjs";
import { withListener } from "./listener.mjs";

const kRefused = "refused.test";

/** A host's name and port to connect to, as a program without a proxy does; prints what comes. */
const directly = (name, port) => `exec 3<>/dev/tcp/${name}/${port} && cat <&3`;

/** The same by the sandbox's proxy: its answer, then what comes. */
const byProxy = (name, port) =>
  "exec 3<>/dev/tcp/127.0.0.1/3128 && " +
  `printf 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' ${name}:${port} ${name}:${port} >&3 && ` +
  "read -r answer <&3; echo $answer; timeout 30 cat <&3";

/** @param name leads to this machine, by its /etc/hosts; undefined where there is none. */
export async function checkNames({ report, make, name }) {
  const limits = { timeoutMs: 20_000 * report.slow };

  /** What a script printed, and whom it asked for. */
  const run = async (runner, script) => {
    const result = await runner.exec({ argv: ["bash", "-c", script], limits });
    expectEqual(result.outcome.kind, "exited", shown(result));
    const asked = (result.audits[0].connections ?? []).map(
      ({ host, verdict, via }) => `${host} ${verdict} ${via}`,
    );
    return { said: textOf(result.stdout), asked, all: `${shown(result)} ${asked}` };
  };

  const check = (way, script, allowed) =>
    report.check(`bubblewrap: a network by domain, ${way}`, () =>
      withListener(async (port) => {
        const allow = [`${allowed}:${port}`];
        const runner = make({ network: { allow, allowPrivate: ["127.0.0.0/8", "::1"] } });
        try {
          const reached = await run(runner, script(allowed, port));
          expectTrue(reached.said.endsWith("reached"), reached.all);
          const refused = await run(runner, script(kRefused, port));
          expectTrue(!refused.said.includes("reached"), refused.all);
          expectTrue(
            refused.asked.some((each) => each.startsWith(`${kRefused} denied `)),
            refused.all,
          );
          const around = await run(runner, directly("127.0.0.1", port));
          expectTrue(!around.said.includes("reached"), around.all);
        } finally {
          await runner.close();
        }
      }),
    );

  await check("by its proxy", byProxy, "localhost");
  if (name !== undefined) await check("by its names", directly, name);
}
