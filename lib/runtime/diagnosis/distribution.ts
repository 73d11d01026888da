/** Which Linux distribution this is, and how a package is installed on it. Pure. */

/** What /etc/os-release says. */
export type Distribution = {
  /** Such as "ubuntu", and what it is like, the nearest first. */
  ids: readonly string[];
  /** Such as "24.04"; "" where there is none. */
  version: string;
  /** For people. */
  name: string;
};

const kInstallers: readonly (readonly [ids: RegExp, command: string])[] = [
  [/^(debian|ubuntu)$/, "apt-get install"],
  [/^(fedora|rhel|centos)$/, "dnf install"],
  [/^arch$/, "pacman -S"],
  [/^alpine$/, "apk add"],
  [/^(suse|opensuse.*|sles)$/, "zypper install"],
];

/** Reads os-release(5). */
export function parseOsRelease(text: string): Distribution {
  const fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^\s*([A-Z_]+)=(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      fields.set(name, value.replace(/^(["'])(.*)\1$/, "$2").replace(/\\(.)/g, "$1"));
    }
  }
  const ids = [fields.get("ID") ?? "linux", ...(fields.get("ID_LIKE") ?? "").split(/\s+/)];
  return {
    ids: ids.filter((id) => id !== ""),
    version: fields.get("VERSION_ID") ?? "",
    name: fields.get("PRETTY_NAME") ?? fields.get("NAME") ?? "Linux",
  };
}

/** The command line that installs a package, in words where the distribution is not known. */
export function installCommand(distribution: Distribution, name: string): string {
  for (const id of distribution.ids) {
    const found = kInstallers.find(([ids]) => ids.test(id));
    if (found) return `install it: ${found[1]} ${name}`;
  }
  return `install the package ${name} with your distribution's package manager`;
}
