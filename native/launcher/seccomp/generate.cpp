// A build tool: writes a seccomp filter of rules.h as rows for an array of sock_filter.
// Usage: generate ARCHITECTURE base|no-sockets|own-process|told|own-process-told|told-calls OUTPUT,
// where ARCHITECTURE is libseccomp's name of the processor that the filter is for: x86_64, aarch64.
// Those that are told let a listener answer what rules refuse that are not quiet; told-calls is the
// table by which it does. Whatever can't be expressed exactly fails the build.

#include <linux/seccomp.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "launcher/seccomp/filter_compiler.h"

namespace native_runner {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

bool Write(const std::vector<sock_filter>& program, const char* path) {
  File file(std::fopen(path, "w"));
  if (!file) return SeccompFailure(path, errno);
  std::fputs("// Generated from seccomp/rules.h; {code, jt, jf, k}.\n", file.get());
  for (sock_filter row : program) {
    const bool is_told =
        row.code == (BPF_RET | BPF_K) && (row.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE;
    if (is_told) row.k = SECCOMP_RET_USER_NOTIF;
    std::fprintf(file.get(), "{0x%02x, %u, %u, 0x%08x},\n", unsigned{row.code}, unsigned{row.jt},
                 unsigned{row.jf}, unsigned{row.k});
  }
  return std::fclose(file.release()) == 0 || SeccompFailure(path, errno);
}

using Tables = std::initializer_list<std::span<const SeccompRule>>;

// Each call once: what is refused of it, and how, is one thing whatever rule it was.
bool WriteToldCalls(std::uint32_t architecture, Tables tables, const char* path) {
  File file(std::fopen(path, "w"));
  if (!file) return SeccompFailure(path, errno);
  std::fputs("// Generated from seccomp/rules.h; {number, name, error, argument}.\n", file.get());
  std::map<int, SeccompRule> told;
  for (const auto rules : tables) {
    for (const SeccompRule& rule : rules) {
      int number = -1;
      if (!ResolveCall(architecture, rule, &number)) return false;
      if (number < 0 || rule.is_quiet) continue;
      const auto [known, is_new] = told.emplace(number, rule);
      if (!is_new && known->second.error != rule.error) return SeccompFailure(rule.call, EINVAL);
    }
  }
  for (const auto& [number, rule] : told) {
    std::fprintf(file.get(), "{%d, \"%s\", %d, %d},\n", number, rule.call, rule.error,
                 rule.argument < 0 ? 0 : rule.argument);
  }
  return std::fclose(file.release()) == 0 || SeccompFailure(path, errno);
}

bool WriteFilter(std::uint32_t architecture, Tables tables, SeccompUse use, const char* path) {
  FilterCompiler compiler(architecture, use);
  bool ok = compiler.Open();
  for (const auto rules : tables)
    ok = ok && compiler.Add(rules);
  std::vector<sock_filter> program;
  return ok && compiler.Export(&program) && Write(program, path);
}

int Usage() {
  std::fputs(
      "usage: generate x86_64|aarch64 "
      "base|no-sockets|own-process|told|own-process-told|told-calls OUTPUT\n",
      stderr);
  return 2;
}

int Generate(std::uint32_t architecture, std::string_view which, const char* path) {
  const Tables base = {kSeccompRules};
  const Tables own_process = {kSeccompRules, kOwnProcessRules};
  const auto filter = [&](Tables tables, SeccompUse use) {
    return WriteFilter(architecture, tables, use, path) ? 0 : 1;
  };
  if (which == "base") return filter(base, SeccompUse::kRefused);
  if (which == "no-sockets") return filter({kNoSocketRules}, SeccompUse::kRefused);
  if (which == "own-process") return filter(own_process, SeccompUse::kRefused);
  if (which == "told") return filter(base, SeccompUse::kTold);
  if (which == "own-process-told") return filter(own_process, SeccompUse::kTold);
  if (which == "told-calls") return WriteToldCalls(architecture, own_process, path) ? 0 : 1;
  return Usage();
}

}  // namespace
}  // namespace native_runner

int main(int argc, char** argv) {
  using namespace native_runner;
  if (argc != 4) return Usage();
  const std::uint32_t architecture = seccomp_arch_resolve_name(argv[1]);
  return architecture == 0 ? Usage() : Generate(architecture, argv[2], argv[3]);
}
