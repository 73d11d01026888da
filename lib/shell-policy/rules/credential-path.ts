/** Files that hold keys, passwords or the list of who has them. */

import { isGlob, isRooted, mayMatch, normalized, resolved, withoutExpansions } from "../path.js";
import { kExpansion, type ShellWord } from "../script/word.js";

export const kCredentialReason = "This names a file that holds keys or passwords.";

/** Folders and files in a home, by their first name. */
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
/** After the folder of keys. */
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
/** Cheaper than the above; what passes neither this nor is a glob is not looked at further. */
const kHint =
  /\.(?:ssh|aws|azure|gnupg|kube|netrc|pgpass|my|git-c|pypirc|vault|password|npmrc|config|docker)|id_|etc|secrets|proc/;

/** A glob of marks only, such as `*`, is not aimed at anything; `??????` is. */
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

/** Whether a word names such a file, read in the folder that a `cd` led to. */
export function namesCredential({ text }: ShellWord, directory: string | undefined): boolean {
  if (names(text)) return true;
  if (text.includes(kExpansion) && names(withoutExpansions(text))) return true;
  if (directory === undefined || directory === "" || text.startsWith("-")) return false;
  return names(resolved(text, directory));
}
