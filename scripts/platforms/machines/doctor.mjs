// Whether `doctor` says of a machine what its kernel is known to have. Pure.

/** What Landlock adds, by the version of its interface from which on it does. */
const kLandlockLayers = [
  ["landlock-fs", 1],
  ["landlock-tcp", 4],
  ["landlock-scope", 6],
];

const quoted = (value) => JSON.stringify(value) ?? "nothing";

/**
 * @param text what `doctor --json` printed.
 * @param known.landlockAbi what the kernel has; 0 for none.
 * @param known.refusing the profile of AppArmor that forbids bwrap's sandbox; undefined: none does.
 * @returns {string[]} a line for each thing that it says otherwise.
 */
export function misdiagnoses(text, { landlockAbi, refusing }) {
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    return [`doctor printed no report: ${text.trim().slice(-300)}`];
  }
  const lines = [];
  const expect = (what, got, wanted) => {
    if (quoted(got) !== quoted(wanted)) {
      lines.push(`doctor says of ${what}: ${quoted(got)}, not ${quoted(wanted)}`);
    }
  };
  const of = (name) => report.runtimes.find((each) => each.name === name);
  const wanted = kLandlockLayers.filter(([, from]) => from <= landlockAbi).map(([name]) => name);
  const layers = of("landlock").layers ?? [];
  expect("Landlock's ABI", report.host.landlockAbi, landlockAbi);
  expect("whether landlock works", of("landlock").available, landlockAbi > 0);
  expect(
    "Landlock's layers",
    layers.filter((name) => name.startsWith("landlock-")),
    wanted,
  );
  const { available, fix = "" } = of("bubblewrap");
  expect("whether bubblewrap works", available, refusing === undefined);
  expect("what auto takes", report.chosen, refusing === undefined ? "bubblewrap" : "landlock");
  if (refusing !== undefined && !fix.includes(`AppArmor's profile ${refusing} confines`)) {
    lines.push(`doctor does not name the profile that refuses: ${fix || "no fix"}`);
  }
  return lines;
}
