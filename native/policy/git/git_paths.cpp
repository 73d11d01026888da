#include "policy/git/git_paths.h"

#include <algorithm>
#include <array>
#include <optional>

#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::string_view kGitDirectory = ".git";

GitPath::Kind KindInGit(std::string_view name) {
  if (name == "commondir") return GitPath::Kind::kCommonDirectory;
  const bool is_file = name == "config" || name == "config.worktree";
  return is_file ? GitPath::Kind::kFile : GitPath::Kind::kDirectory;
}

}  // namespace

std::vector<std::string> GitNamesOf(const std::vector<std::string>& protected_names) {
  std::vector<std::string> names;
  for (const std::string& name : protected_names) {
    if (name == kGitDirectory) {
      names.emplace_back();
    } else if (name.starts_with(".git/")) {
      names.push_back(name.substr(kGitDirectory.size() + 1));
    }
  }
  return names;
}

std::vector<GitPath> GitPathsOf(const GitRepository& repository,
                                const std::vector<std::string>& names) {
  std::vector<GitPath> paths;
  if (names.empty()) return paths;
  bool has_config = false;
  for (const std::string& name : names) {
    has_config = has_config || name == "config" || name.empty();
    for (const GitDirectory& directory : repository.directories) {
      if (directory.is_linked && (name == "config" || name == "hooks")) continue;
      paths.push_back({JoinPath(directory.path, name), KindInGit(name)});
    }
  }
  for (const std::string& entry : repository.entries)
    paths.push_back({entry, GitPath::Kind::kEntry});
  if (!has_config) return paths;
  for (const std::string& hooks : repository.hooks)
    paths.push_back({hooks, GitPath::Kind::kDirectory});
  for (const std::string& included : repository.included)
    paths.push_back({included, GitPath::Kind::kFile});
  return paths;
}

void ProtectedPaths::Add(std::string_view path) {
  paths_.insert(AsciiLowered(NormalPath(path)));
}

bool ProtectedPaths::Has(std::string_view path, bool is_directory) const {
  if (paths_.empty()) return false;
  const std::string lower = AsciiLowered(path);
  for (std::string_view above = lower;; above = above.substr(0, above.rfind('/'))) {
    if (above.empty()) above = "/";
    if (paths_.find(above) != paths_.end()) return true;
    if (above == "/") break;
  }
  if (is_directory) return false;
  const std::string before = lower + "/";
  const auto next = paths_.lower_bound(before);
  return next != paths_.end() && next->starts_with(before);
}

namespace {

constexpr bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

constexpr bool IsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

constexpr char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  std::vector<GitSetting> All() {
    std::vector<GitSetting> settings;
    std::string section;
    while (!rest_.empty()) {
      SkipBlanks();
      if (Take('[')) {
        section = Section();
      } else if (!rest_.empty() && IsName(rest_.front())) {
        if (auto setting = Setting(section)) settings.push_back(std::move(*setting));
      } else {
        SkipLine();  // a comment, an empty line, or a line that git refuses
      }
    }
    return settings;
  }

 private:
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  char Next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void SkipBlanks() {
    while (!rest_.empty() && IsBlank(rest_.front()))
      rest_.remove_prefix(1);
  }

  void SkipLine() {
    const std::size_t end = rest_.find('\n');
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  }

  // Reads a section's name after "[". Text after "]" is read as a line of its own.
  std::string Section() {
    std::string name;
    while (!rest_.empty() && (IsName(rest_.front()) || rest_.front() == '.'))
      name += Lower(Next());
    SkipBlanks();
    if (Take('"')) SkipSubsection();
    SkipBlanks();
    if (!Take(']')) SkipLine();
    return name.substr(0, name.find('.'));  // [section.subsection], the old form
  }

  void SkipSubsection() {
    while (!rest_.empty() && rest_.front() != '\n') {
      const char c = Next();
      if (c == '"') return;
      if (c == '\\' && !rest_.empty()) rest_.remove_prefix(1);
    }
  }

  std::optional<GitSetting> Setting(const std::string& section) {
    GitSetting setting{section + ".", ""};
    while (!rest_.empty() && IsName(rest_.front()))
      setting.key += Lower(Next());
    SkipBlanks();
    if (rest_.empty() || rest_.front() == '\n') return setting;
    const bool has_value = Take('=');
    if (has_value) {
      SkipBlanks();
      setting.value = Value();
    } else {
      SkipLine();
    }
    return has_value ? std::optional(std::move(setting)) : std::nullopt;
  }

  // Reads a value up to the end of the line, or of several lines that end with a backslash.
  std::string Value() {
    std::string value;
    std::size_t to_keep = 0;  // drops blanks at the end, except quoted ones
    bool is_quoted = false;
    while (!rest_.empty()) {
      const char c = Next();
      if (c == '\n') break;
      if (!is_quoted && (c == '#' || c == ';')) {
        SkipLine();
        break;
      }
      if (c == '"') {
        is_quoted = !is_quoted;
        to_keep = value.size();
        continue;
      }
      if (c == '\\') {
        Escaped(&value);
        to_keep = value.size();
        continue;
      }
      value += c;
      if (is_quoted || !IsBlank(c)) to_keep = value.size();
    }
    value.resize(to_keep);
    return value;
  }

  void Escaped(std::string* value) {
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (rest_.empty() || Take('\n')) return;  // the value continues on the next line
    const char c = Next();
    switch (c) {
      case 'n':
        *value += '\n';
        break;
      case 't':
        *value += '\t';
        break;
      case 'b':
        *value += '\b';
        break;
      default:
        *value += c;
    }
  }

  std::string_view rest_;
};

}  // namespace

std::vector<GitSetting> ReadGitConfig(std::string_view text) {
  return Reader(text).All();
}

namespace {

constexpr std::array<std::string_view, 14> kOfNewRepository = {
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "extensions.objectformat",
    "extensions.refstorage",
    "user.name",
    "user.email",
};

// Quotes a value (git-config(1), "Values"). Other control characters stand for themselves.
std::string QuotedValue(std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

bool IsPlain(std::string_view value) {
  return std::all_of(value.begin(), value.end(), IsName);
}

}  // namespace

std::string NewRepositoryConfig(std::string_view text) {
  std::string config;
  std::string last;
  for (const GitSetting& setting : ReadGitConfig(text)) {
    const auto* found = std::find(kOfNewRepository.begin(), kOfNewRepository.end(), setting.key);
    if (found == kOfNewRepository.end() || setting.value.empty()) continue;
    const std::size_t dot = setting.key.find('.');
    const std::string section = setting.key.substr(0, dot);
    if (section != last) config.append("[").append(section).append("]\n");
    last = section;
    config.append("\t").append(setting.key, dot + 1).append(" = ");
    config.append(IsPlain(setting.value) ? setting.value : QuotedValue(setting.value)).append("\n");
  }
  return config;
}

}  // namespace native_runner
