#include "policy/bubblewrap/name_files.h"

#include <algorithm>

namespace native_runner {
namespace {

constexpr std::string_view kHostsLine = "hosts: files dns\n";
constexpr std::string_view kWholeSwitch =
    "passwd: files\n"
    "group: files\n"
    "shadow: files\n"
    "hosts: files dns\n"
    "networks: files\n"
    "protocols: files\n"
    "services: files\n"
    "ethers: files\n"
    "rpc: files\n";

bool IsNameLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
}

// The database that a line is about; empty: about none.
std::string_view DatabaseOf(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] == '#') return {};
  const std::size_t end = line.find_first_of(": \t", begin);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin, end - begin);
}

}  // namespace

std::string ResolverText() {
  return "nameserver 127.0.0.1\noptions timeout:30 attempts:2\n";
}

std::string HostsText(std::string_view machine) {
  std::string text = "127.0.0.1 localhost";
  const bool is_plain =
      !machine.empty() && std::all_of(machine.begin(), machine.end(), IsNameLetter);
  if (is_plain && machine != "localhost") {
    text += ' ';
    text += machine;
  }
  return text + "\n::1 localhost ip6-localhost ip6-loopback\n";
}

std::string SwitchText(std::string_view text) {
  if (text.empty()) return std::string(kWholeSwitch);
  std::string changed;
  changed.reserve(text.size() + kHostsLine.size());
  bool has_hosts = false;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    if (DatabaseOf(line) != "hosts") {
      changed += line;
    } else if (!has_hosts) {
      changed += kHostsLine;
      has_hosts = true;
    }
  }
  if (has_hosts) return changed;
  if (!changed.ends_with('\n')) changed += '\n';
  changed += kHostsLine;
  return changed;
}

std::vector<Mount> PlanNameFiles(const std::vector<NameFile>& files, bool for_all) {
  std::vector<Mount> mounts;
  mounts.reserve(files.size());
  for (const NameFile& file : files) {
    Mount& mount = mounts.emplace_back();
    mount.kind = Mount::Kind::kText;
    mount.target = file.path;
    mount.descriptor = file.descriptor;
    mount.is_for_all = for_all;
  }
  return mounts;
}

}  // namespace native_runner
