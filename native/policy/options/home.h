#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/current.h"

namespace native_runner {

enum class Home { kNone, kPrivate, kKept, kDirectory };
enum class Tools { kNone, kHost };
enum class Caches { kNone, kHost, kNamed };

// The name of a transaction's home in its directory.
inline constexpr const char* kTransactionHome = "home";

// A host path that is shown read-only, at the same path or another.
struct ShownPath {
  std::string source;
  std::string target;
  bool operator==(const ShownPath&) const = default;
};

// A package cache of the host, shown copy-on-write.
struct ShownCache {
  std::string name;                 // of the tool, for texts
  std::string source;               // a real path
  std::string target;               // in the home
  std::vector<std::string> hidden;  // names of files in it that are not shown
  bool operator==(const ShownCache&) const = default;
};

// A directory of the host's PATH whose programs are not shown.
struct HiddenTools {
  std::string path;
  std::string why;  // why no mount may show it, as a clause; empty: one may
};

// What sandboxes show of the user's home and of the host's tools, as lib has found it. Immutable.
struct HomeView {
  std::string path;        // of the home, inside; empty: there is none
  std::string directory;   // the home on the host, a real path; empty: a tmpfs of each sandbox
  std::string homes;       // a directory of the host in which each run's own home is made; then
                           // `path` is empty, and HOME is named when the run is planned
  std::string link;        // a further path that leads to the home; empty: none
  std::string git_config;  // text of ~/.gitconfig in a home of the sandbox's own; empty: no file
  std::vector<ShownPath> shown;     // in this order, after the home
  std::vector<ShownPath> followed;  // where links of the system lead
  std::vector<ShownCache> caches;   // after all of these
  std::string kept_caches;  // where on the host a kept home has what is written over them; or empty
  std::vector<HiddenTools> hidden;                            // in PATH's order; for denials
  std::vector<std::pair<std::string, std::string>> replaced;  // variables, if the host's pass
  std::vector<std::string> dropped;                           // names of variables
  std::vector<std::pair<std::string, std::string>> added;     // variables, if none of the name pass
  std::string root;     // the unpacked image of the policy's `root`, a real path; empty: none
  std::string failure;  // why what was asked for can't be had; empty: it can
  std::string fix;
};

using CurrentHome = Current<HomeView>;

}  // namespace native_runner
