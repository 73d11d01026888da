/** The hosts that package managers and forges need. Listed in docs/network.md. */

import type { NetworkPreset } from "../../types/public.js";

/**
 * What each preset adds to `allow`. Plain names, since whoever can make a name below a wildcard could
 * be reached by it; port 443 alone wherever nothing else is needed.
 */
export const kPresets: Readonly<Record<NetworkPreset, readonly string[]>> = Object.freeze({
  // The registry, the name that old lock files of yarn have for it, and the headers of node-gyp.
  npm: ["registry.npmjs.org:443", "registry.yarnpkg.com:443", "nodejs.org:443"],
  // The index, and the files that it names.
  pypi: ["pypi.org:443", "files.pythonhosted.org:443"],
  // git over https and ssh, archives, raw files, and the files of releases and of LFS; not the API.
  github: [
    "github.com:443",
    "github.com:22",
    "codeload.github.com:443",
    "raw.githubusercontent.com:443",
    "objects.githubusercontent.com:443",
    "release-assets.githubusercontent.com:443",
    "github-cloud.githubusercontent.com:443",
  ],
  // Packages are signed, and the usual lists of sources name http.
  debian: ["deb.debian.org", "security.debian.org"],
  // The sparse index, the files, and the host that older versions of cargo ask for them.
  crates: ["index.crates.io:443", "static.crates.io:443", "crates.io:443"],
  // The module proxy and the checksum database; GOPROXY=direct asks each module's own host instead.
  go: ["proxy.golang.org:443", "sum.golang.org:443"],
});

/** The names of the presets. */
export const kPresetNames = Object.freeze(Object.keys(kPresets)) as readonly NetworkPreset[];
