/**
 * Where tools keep their package caches. Data only: lib/home/host-caches.ts reads it. What lies beside these directories
 * stays unseen: settings, credentials, installed programs.
 */

import type { CacheName } from "../options.js";

/** One directory of a cache. */
export type CachePlace = {
  /**
   * Where it is on the host: "$NAME" is a variable's value, "~" the home. The first whose variable is set. What follows
   * the variable ends `inside` too.
   */
  host: readonly string[];
  /** Where it is inside, relative to the home: where the tool looks if no variable says otherwise. */
  inside: string;
  /** Names in it that are not shown: settings, and what is no cache. */
  hidden?: readonly string[];
};

/** The caches of one tool. */
export type CacheLayout = {
  name: CacheName;
  places: readonly CachePlace[];
};

/** The layouts, by name. */
export const kCacheLayouts: readonly CacheLayout[] = [
  {
    name: "npm",
    places: [
      {
        host: ["$npm_config_cache/_cacache", "$NPM_CONFIG_CACHE/_cacache", "~/.npm/_cacache"],
        inside: ".npm/_cacache",
      },
    ],
  },
  {
    name: "pnpm",
    places: [
      {
        host: ["$PNPM_HOME/store", "$XDG_DATA_HOME/pnpm/store", "~/.local/share/pnpm/store"],
        inside: ".local/share/pnpm/store",
      },
      { host: ["$XDG_CACHE_HOME/pnpm", "~/.cache/pnpm"], inside: ".cache/pnpm" },
    ],
  },
  {
    name: "yarn",
    places: [
      {
        host: ["$YARN_CACHE_FOLDER", "$XDG_CACHE_HOME/yarn", "~/.cache/yarn"],
        inside: ".cache/yarn",
      },
      {
        host: ["$YARN_GLOBAL_FOLDER/cache", "~/.yarn/berry/cache"],
        inside: ".yarn/berry/cache",
      },
      {
        host: ["$YARN_GLOBAL_FOLDER/metadata", "~/.yarn/berry/metadata"],
        inside: ".yarn/berry/metadata",
      },
    ],
  },
  {
    name: "bun",
    places: [
      {
        host: ["$BUN_INSTALL_CACHE_DIR", "$BUN_INSTALL/install/cache", "~/.bun/install/cache"],
        inside: ".bun/install/cache",
      },
    ],
  },
  {
    name: "deno",
    places: [
      {
        host: ["$DENO_DIR", "$XDG_CACHE_HOME/deno", "~/.cache/deno"],
        inside: ".cache/deno",
        hidden: ["location_data", "deno_history.txt"],
      },
    ],
  },
  {
    name: "pip",
    places: [
      { host: ["$PIP_CACHE_DIR", "$XDG_CACHE_HOME/pip", "~/.cache/pip"], inside: ".cache/pip" },
    ],
  },
  {
    name: "uv",
    places: [{ host: ["$UV_CACHE_DIR", "$XDG_CACHE_HOME/uv", "~/.cache/uv"], inside: ".cache/uv" }],
  },
  {
    name: "cargo",
    places: [
      { host: ["$CARGO_HOME/registry", "~/.cargo/registry"], inside: ".cargo/registry" },
      { host: ["$CARGO_HOME/git/db", "~/.cargo/git/db"], inside: ".cargo/git/db" },
    ],
  },
  {
    name: "go",
    places: [
      { host: ["$GOMODCACHE", "$GOPATH/pkg/mod", "~/go/pkg/mod"], inside: "go/pkg/mod" },
      {
        host: ["$GOCACHE", "$XDG_CACHE_HOME/go-build", "~/.cache/go-build"],
        inside: ".cache/go-build",
      },
    ],
  },
  {
    name: "maven",
    places: [{ host: ["~/.m2/repository"], inside: ".m2/repository" }],
  },
  {
    name: "gradle",
    places: [
      { host: ["$GRADLE_USER_HOME/caches", "~/.gradle/caches"], inside: ".gradle/caches" },
      {
        host: ["$GRADLE_USER_HOME/wrapper/dists", "~/.gradle/wrapper/dists"],
        inside: ".gradle/wrapper/dists",
      },
    ],
  },
  {
    name: "ccache",
    places: [
      {
        host: ["$CCACHE_DIR", "$XDG_CACHE_HOME/ccache", "~/.cache/ccache"],
        inside: ".cache/ccache",
        hidden: ["ccache.conf"],
      },
      { host: ["~/.ccache"], inside: ".ccache", hidden: ["ccache.conf"] },
    ],
  },
  {
    name: "sccache",
    places: [
      {
        host: ["$SCCACHE_DIR", "$XDG_CACHE_HOME/sccache", "~/.cache/sccache"],
        inside: ".cache/sccache",
      },
    ],
  },
  {
    name: "composer",
    places: [
      {
        host: ["$COMPOSER_CACHE_DIR", "$XDG_CACHE_HOME/composer", "~/.cache/composer"],
        inside: ".cache/composer",
      },
    ],
  },
  {
    name: "nuget",
    places: [{ host: ["$NUGET_PACKAGES", "~/.nuget/packages"], inside: ".nuget/packages" }],
  },
];
