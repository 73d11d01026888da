// The version of a release: package.json says it, package-lock.json repeats it, and the changelog has a
// part of its own for it, with a date.

/** What is wrong with the version, as the three texts have it. Pure. */
export function versionComplaints({ version, lock, changelog }) {
  const complaints = [];
  const locked = [lock.version, lock.packages?.[""]?.version];
  if (locked.some((each) => each !== version)) {
    complaints.push(`package-lock.json has ${locked.join(" and ")}, package.json ${version}`);
  }
  const heading = new RegExp(`^## \\[${escaped(version)}\\] - \\d{4}-\\d{2}-\\d{2}$`, "m");
  if (!heading.test(changelog)) {
    complaints.push(`CHANGELOG.md has no "## [${version}] - YYYY-MM-DD"`);
  }
  const [, unreleased = ""] =
    /^## \[Unreleased\]\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? [];
  if (unreleased.trim() !== "") complaints.push("CHANGELOG.md has entries under Unreleased");
  return complaints;
}

/** As RegExp.escape, which Node 20 lacks. */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
