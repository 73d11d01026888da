// A build tool: writes a seccomp filter of rules.h as rows for an array of sock_filter.
// Usage: generate base|no-sockets|own-process|told|own-process-told|told-calls OUTPUT. Those that
// are told let a listener answer what rules refuse that are not quiet; told-calls is the table by
// which it does. Whatever can't be expressed exactly fails the build.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "launcher/seccomp/rules.h"

namespace native_runner {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

bool Fail(const char* what, int error) {
  std::fprintf(stderr, "seccomp filter: %s: %s\n", what, std::strerror(error < 0 ? -error : error));
  return false;
}

// The number of a call; negative when this architecture does not have it.
bool Resolve(const SeccompRule& rule, int* number) {
  *number = seccomp_syscall_resolve_name(rule.call);
  if (*number != __NR_SCMP_ERROR) return true;
  *number = rule.number;
  return rule.number >= 0 || Fail(rule.call, ENOENT);
}

enum class Use { kRefused, kTold };

// One that is told is for a tracer, until it is written: libseccomp before 2.5 knows of no
// listeners.
std::uint32_t ActionOf(const SeccompRule& rule, Use use) {
  const auto error = static_cast<unsigned>(rule.error);
  const bool is_told = use == Use::kTold && !rule.is_quiet;
  return is_told ? SCMP_ACT_TRACE(error) : SCMP_ACT_ERRNO(error);
}

bool AddRule(scmp_filter_ctx filter, const SeccompRule& rule, Use use) {
  int number = -1;
  if (!Resolve(rule, &number)) return false;
  if (number < 0) return true;
  const bool is_masked = rule.compare == SCMP_CMP_MASKED_EQ;
  const scmp_arg_cmp condition{static_cast<unsigned>(rule.argument), rule.compare,
                               is_masked ? rule.mask : rule.value, is_masked ? rule.value : 0};
  const int result =
      seccomp_rule_add_exact_array(filter, ActionOf(rule, use), number, rule.argument < 0 ? 0 : 1,
                                   rule.argument < 0 ? nullptr : &condition);
  return result == 0 || Fail(rule.call, result);
}

bool SetAttributes(scmp_filter_ctx filter) {
  const int result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  if (result != 0) return Fail("other architectures", result);
  // A binary tree instead of a chain; libseccomp before 2.5 can only do the chain.
  static_cast<void>(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));
  return true;
}

bool AddRules(scmp_filter_ctx filter, std::span<const SeccompRule> rules, Use use) {
  for (const SeccompRule& rule : rules) {
    if (!AddRule(filter, rule, use)) return false;
  }
  return true;
}

bool Export(scmp_filter_ctx filter, std::vector<sock_filter>* program) {
  const File file(std::tmpfile());
  if (!file) return Fail("temporary file", errno);
  const int result = seccomp_export_bpf(filter, fileno(file.get()));
  if (result != 0) return Fail("export", result);
  std::rewind(file.get());
  sock_filter row{};
  while (std::fread(&row, sizeof row, 1, file.get()) == 1)
    program->push_back(row);
  return (!program->empty() && program->size() <= BPF_MAXINSNS) || Fail("its size", E2BIG);
}

bool Write(const std::vector<sock_filter>& program, const char* path) {
  File file(std::fopen(path, "w"));
  if (!file) return Fail(path, errno);
  std::fputs("// Generated from seccomp/rules.h; {code, jt, jf, k}.\n", file.get());
  for (sock_filter row : program) {
    const bool is_told =
        row.code == (BPF_RET | BPF_K) && (row.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE;
    if (is_told) row.k = SECCOMP_RET_USER_NOTIF;
    std::fprintf(file.get(), "{0x%02x, %u, %u, 0x%08x},\n", unsigned{row.code}, unsigned{row.jt},
                 unsigned{row.jf}, unsigned{row.k});
  }
  return std::fclose(file.release()) == 0 || Fail(path, errno);
}

using Tables = std::initializer_list<std::span<const SeccompRule>>;

// Each call once: what is refused of it, and how, is one thing whatever rule it was.
int WriteToldCalls(Tables tables, const char* path) {
  File file(std::fopen(path, "w"));
  if (!file) return Fail(path, errno) ? 0 : 1;
  std::fputs("// Generated from seccomp/rules.h; {number, name, error, argument}.\n", file.get());
  std::map<int, SeccompRule> told;
  for (const auto rules : tables) {
    for (const SeccompRule& rule : rules) {
      int number = -1;
      if (!Resolve(rule, &number)) return 1;
      if (number < 0 || rule.is_quiet) continue;
      const auto [known, is_new] = told.emplace(number, rule);
      if (!is_new && known->second.error != rule.error) return Fail(rule.call, EINVAL) ? 0 : 1;
    }
  }
  for (const auto& [number, rule] : told) {
    std::fprintf(file.get(), "{%d, \"%s\", %d, %d},\n", number, rule.call, rule.error,
                 rule.argument < 0 ? 0 : rule.argument);
  }
  return std::fclose(file.release()) == 0 || Fail(path, errno) ? 0 : 1;
}

int Main(Tables tables, Use use, const char* path) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return 1;
  std::vector<sock_filter> program;
  bool ok = SetAttributes(filter);
  for (const auto rules : tables)
    ok = ok && AddRules(filter, rules, use);
  ok = ok && Export(filter, &program) && Write(program, path);
  seccomp_release(filter);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace native_runner

int main(int argc, char** argv) {
  using namespace native_runner;
  const std::string_view which = argc == 3 ? argv[1] : "";
  const char* const path = argv[argc - 1];
  const Tables base = {kSeccompRules};
  const Tables own_process = {kSeccompRules, kOwnProcessRules};
  if (which == "base") return Main(base, Use::kRefused, path);
  if (which == "no-sockets") return Main({kNoSocketRules}, Use::kRefused, path);
  if (which == "own-process") return Main(own_process, Use::kRefused, path);
  if (which == "told") return Main(base, Use::kTold, path);
  if (which == "own-process-told") return Main(own_process, Use::kTold, path);
  if (which == "told-calls") return WriteToldCalls(own_process, path);
  std::fputs(
      "usage: generate base|no-sockets|own-process|told|own-process-told|told-calls OUTPUT\n",
      stderr);
  return 2;
}
