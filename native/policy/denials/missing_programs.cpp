#include "policy/denials/missing_programs.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>

#include "policy/denials/file_denials.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

constexpr std::string_view kPathPrefix = "PATH=";
constexpr std::size_t kMostNames = 32;
constexpr int kShellsNotFound = 127;

bool IsOfNames(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z') || std::string_view("_-.+").find(letter) < 4;
}

// Collects names, each once.
class Names {
 public:
  void Add(std::string_view name, const std::string& call, const std::string& program) {
    if (name.empty() || all_.size() >= kMostNames) return;
    if (!known_.emplace(name).second) return;
    Observation missing;
    missing.call = call;
    missing.kind = Observation::Kind::kExec;
    missing.error = ENOENT;
    missing.path = name;
    missing.program = program;
    all_.push_back(std::move(missing));
  }
  // Adds the words of a text that are no part of a path or of an assignment's name.
  void AddWords(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      if (!IsOfNames(text[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text.size() && IsOfNames(text[end]))
        ++end;
      const bool is_path =
          (at > 0 && text[at - 1] == '/') || (end < text.size() && text[end] == '/');
      const bool is_assigned = end < text.size() && text[end] == '=';
      const bool is_option = text[at] == '-';
      if (!is_path && !is_assigned && !is_option) Add(text.substr(at, end - at), "execve", "");
      at = end;
    }
  }
  std::vector<Observation> Take() { return std::move(all_); }

 private:
  std::set<std::string, std::less<>> known_;
  std::vector<Observation> all_;
};

}  // namespace

std::vector<std::string> SearchPathOf(const std::vector<std::string>& environment) {
  std::vector<std::string> directories;
  for (const std::string& variable : environment) {
    if (!variable.starts_with(kPathPrefix)) continue;
    std::string_view rest = std::string_view(variable).substr(kPathPrefix.size());
    for (bool more = true; more;) {
      const std::size_t colon = rest.find(':');
      more = colon != std::string_view::npos;
      if (rest.starts_with('/')) directories.emplace_back(rest.substr(0, colon));
      if (more) rest.remove_prefix(colon + 1);
    }
  }
  return directories;
}

bool EndedAsMissing(const DeniedRun& run) {
  return run.outcome.kind == OutcomeKind::kNotFound ||
         (run.outcome.kind == OutcomeKind::kExited && run.outcome.exit_code == kShellsNotFound);
}

std::vector<Observation> MissingPrograms(const DeniedRun& run) {
  Names names;
  if (run.outcome.kind == OutcomeKind::kNotFound && !run.argv.empty()) {
    names.Add(run.argv.front(), "execve", "");
    return names.Take();
  }
  std::set<std::string> searched;
  for (const std::string& directory : SearchPathOf(run.environment))
    searched.insert(NormalPath(directory));
  for (const Observation& each : run.observations) {
    const bool is_look = each.kind == Observation::Kind::kExec || IsLookUp(each);
    if (!is_look || each.error != ENOENT || !each.path.starts_with('/')) continue;
    if (searched.contains(ParentOf(each.path)))
      names.Add(NameIn(each.path), each.call, each.program);
  }
  if (EndedAsMissing(run)) {
    for (const std::string& word : run.argv)
      names.AddWords(word);
  }
  return names.Take();
}

}  // namespace native_runner
