/** Files that hold keys, passwords or lists of accounts. */

import { isGlob, isRooted, mayMatch, normalized, resolved, withoutExpansions } from "../path.js";
import { kExpansion, type ShellWord } from "../script/word.js";

export const kCredentialReason = "This names a file that holds keys or passwords.";

/** Folders and files in a home directory, by their first name. */
const kHomeNames = [
  ".ssh",
  ".aws",
  ".azure",
  ".gnupg",
  ".kube",
  ".netrc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".pypirc",
  ".vault-token",
  ".password-store",
];
const kKeyNames = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
const kSystemNames = [
  "shadow",
  "shadow-",
  "gshadow",
  "gshadow-",
  "passwd",
  "sudoers",
  "sudoers.d",
  "master.passwd",
];

const kStart = "(?:^|[^\\w.-])";
const kEnd = "(?![\\w-])";
/** A public key in the folder of keys. */
const kPublicKey = "/[\\w-][\\w.-]*\\.pub(?![\\w./-])";
const kCredential = new RegExp(
  [
    `${kStart}(?:${kHomeNames.map((name) => name.replaceAll(".", "\\.")).join("|")})${kEnd}(?!\\.\\w|${kPublicKey})`,
    `${kStart}(?:${kKeyNames.join("|")})${kEnd}(?!\\.pub)`,
    `/etc/(?:${kSystemNames.map((name) => name.replaceAll(".", "\\.")).join("|")})${kEnd}`,
    "/etc/ssh/ssh_host_\\w+_key(?!\\.pub)",
    "~/\\.npmrc",
    `\\.config/(?:gcloud|gh|op|hub|rclone)${kEnd}`,
    "\\.docker/config\\.json",
    "/var/run/secrets/",
    "/run/secrets/",
    "/proc/(?:self|thread-self|\\d+|[^/]*)/(?:environ|mem)\\b",
  ].join("|"),
);
/** A cheaper filter: a word that does not match it and is not a glob is not examined further. */
const kHint =
  /\.(?:ssh|aws|azure|gnupg|kube|netrc|pgpass|my|git-c|pypirc|vault|password|npmrc|config|docker)|id_|etc|secrets|proc/;

/** A glob of marks only, such as `*`, has no specific target; `??????` does. */
function isAimless(segment: string): boolean {
  return /^\.?\ufdd1+$/.test(segment);
}

function globNames(text: string): boolean {
  const path = normalized(text);
  const segments = path.split("/");
  return segments.some((segment, index) => {
    if (isAimless(segment)) return false;
    if (isGlob(segment)) {
      if (kKeyNames.some((name) => mayMatch(segment, name))) return true;
      const long = isRooted(path) || segment.length > 3;
      if (long && kHomeNames.some((name) => mayMatch(segment, name))) return true;
    }
    const [root, folder = ""] = segments;
    if (index !== 2 || root !== "" || !mayMatch(folder, "etc")) return false;
    return kSystemNames.some((name) => mayMatch(segment, name));
  });
}

function names(text: string): boolean {
  if (isGlob(text) && globNames(text)) return true;
  if (!kHint.test(text)) return false;
  if (kCredential.test(text)) return true;
  if (!/\/[./]/.test(text)) return false;
  // A path may begin after the name of an option or of a variable, or after a host.
  return text.split(/[=:@,\s"']/).some((part) => kCredential.test(normalized(part)));
}

/** True if a word names such a file, relative to the folder that a `cd` led to. */
export function namesCredential({ text }: ShellWord, directory: string | undefined): boolean {
  if (names(text)) return true;
  if (text.includes(kExpansion) && names(withoutExpansions(text))) return true;
  if (directory === undefined || directory === "" || text.startsWith("-")) return false;
  return names(resolved(text, directory));
}
