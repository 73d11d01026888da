// Whether `doctor` says of a container what works in it, and what bubblewrap would need. Pure.

const kConfining = ["bubblewrap", "landlock"];

/**
 * @param text what `doctor --json` printed. @param fix what it must say of bubblewrap.
 * @param auto the runtime that `auto` must take, which is landlock or none (null).
 * @returns {string[]} a line for each thing that it says otherwise.
 */
export function contradictions(text, fix, auto = "landlock") {
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    return [`doctor printed no report: ${text.trim().slice(-300)}`];
  }
  const of = (name) => report.runtimes.find((each) => each.name === name);
  const { bubblewrap, landlock } = { bubblewrap: of("bubblewrap"), landlock: of("landlock") };
  const checks = [
    ["it sees no container", report.host.container !== undefined && report.nesting.nested],
    [
      `of landlock it says ${landlock.state}: ${landlock.reason}`,
      landlock.available === (auto === "landlock"),
    ],
    [`auto takes ${report.chosen}`, report.chosen === auto],
    ["bubblewrap works", !bubblewrap.available],
    [
      `its fix for bubblewrap is ${bubblewrap.fix} (${bubblewrap.reason})`,
      fix.test(bubblewrap.fix),
    ],
  ];
  return checks.filter(([, holds]) => !holds).map(([what]) => `doctor: ${what}`);
}

/** What `doctor --json` says of runtimes that confine commands and can't be had, each with the reason. */
export function lackingRuntimes(text) {
  const { runtimes } = JSON.parse(text);
  return runtimes
    .filter(({ name, available }) => kConfining.includes(name) && !available)
    .map(({ name, reason }) => `${name}: ${reason}`);
}
