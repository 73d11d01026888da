#include "policy/shell/shell_variables.h"

#include <algorithm>
#include <cstddef>

namespace native_runner {
namespace {

constexpr std::string_view kExport = "export ";
constexpr std::string_view kDeclare = "declare -";

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool IsNext(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9');
}

// The name that `text` starts with; empty where it does not start with one.
std::string_view NameAt(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return {};
  const auto end = std::find_if_not(text.begin(), text.end(), IsNext);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Where what stands in quotes at `at` ends, behind its last quote; npos where it does not, or would
// do something. `escapes`: a backslash takes the meaning of the next character.
std::size_t EndOfQuoted(std::string_view text, std::size_t at, char quote, bool escapes) {
  const bool is_active = quote == '"';
  for (; at < text.size(); ++at) {
    if (text[at] == quote) return at + 1;
    if (escapes && text[at] == '\\') {
      ++at;
    } else if (is_active && (text[at] == '$' || text[at] == '`')) {
      break;
    }
  }
  return std::string_view::npos;
}

// Where the word at `at` ends, which is at a line's end; npos where it is not one plain word.
std::size_t EndOfWord(std::string_view text, std::size_t at) {
  constexpr std::string_view kActive = " \t|&;<>()$`";
  while (at < text.size() && text[at] != '\n') {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      at = EndOfQuoted(text, at + 1, c, c == '"');
    } else if (c == '$' && at + 1 < text.size() && text[at + 1] == '\'') {
      at = EndOfQuoted(text, at + 2, '\'', true);
    } else if (c == '\\') {
      at += 2;
    } else {
      at = kActive.find(c) == std::string_view::npos ? at + 1 : std::string_view::npos;
    }
    if (at > text.size()) return std::string_view::npos;
  }
  return at;
}

}  // namespace

bool IsVariableName(std::string_view name) {
  return !name.empty() && NameAt(name).size() == name.size();
}

std::string QuotedForShell(std::string_view text) {
  std::string quoted = "\"";
  quoted.reserve(text.size() + 2);
  for (const char letter : text) {
    if (letter == '"' || letter == '$' || letter == '`' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "\"";
}

std::optional<ShellVariables> ShellVariables::ReadPosix(std::string_view text) {
  ShellVariables read;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++at;
      continue;
    }
    const std::size_t start = at;
    if (text.substr(at).starts_with(kExport)) at += kExport.size();
    const std::string_view name = NameAt(text.substr(at));
    at += name.size();
    const bool has_value = at < text.size() && text[at] == '=';
    if (name.empty() || (!has_value && at - name.size() == start)) return std::nullopt;
    if (has_value) at = EndOfWord(text, at + 1);
    if (at > text.size() || (at < text.size() && text[at] != '\n')) return std::nullopt;
    read.text_[std::string(name)].append(text.substr(start, at - start)).append("\n");
  }
  return read;
}

std::optional<ShellVariables> ShellVariables::ReadBash(std::string_view text) {
  ShellVariables read;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view said = text.substr(0, end);
    const std::size_t flags_end = said.find(' ', kDeclare.size());
    if (!said.starts_with(kDeclare) || flags_end == std::string_view::npos) return std::nullopt;
    const std::string_view name = NameAt(said.substr(flags_end + 1));
    if (name.empty()) return std::nullopt;
    read.text_[std::string(name)] = said;
    text.remove_prefix(end + 1);
  }
  return read;
}

std::string ShellVariables::TextWithout(const std::vector<std::string>& names) const {
  std::string text;
  for (const auto& [name, said] : text_) {
    if (std::find(names.begin(), names.end(), name) == names.end()) text += said;
  }
  return text;
}

void ShellVariables::PutBack(const std::vector<std::string>& names, const ShellVariables& before) {
  for (const std::string& name : names) {
    const auto found = before.text_.find(name);
    if (found == before.text_.end()) {
      text_.erase(name);
    } else {
      text_[name] = found->second;
    }
  }
}

}  // namespace native_runner
