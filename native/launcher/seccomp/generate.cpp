// A build tool: writes a seccomp filter of rules.h as rows for an array of sock_filter.
// Usage: generate base|no-sockets|own-process OUTPUT. Whatever can't be expressed exactly fails the
// build.

#include <linux/filter.h>
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
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

bool AddRule(scmp_filter_ctx filter, const SeccompRule& rule) {
  int number = -1;
  if (!Resolve(rule, &number)) return false;
  if (number < 0) return true;
  const bool is_masked = rule.compare == SCMP_CMP_MASKED_EQ;
  const scmp_arg_cmp condition{static_cast<unsigned>(rule.argument), rule.compare,
                               is_masked ? rule.mask : rule.value, is_masked ? rule.value : 0};
  const int result = seccomp_rule_add_exact_array(
      filter, SCMP_ACT_ERRNO(static_cast<unsigned>(rule.error)), number, rule.argument < 0 ? 0 : 1,
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

bool AddRules(scmp_filter_ctx filter, std::span<const SeccompRule> rules) {
  for (const SeccompRule& rule : rules) {
    if (!AddRule(filter, rule)) return false;
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
  for (const sock_filter& row : program) {
    std::fprintf(file.get(), "{0x%02x, %u, %u, 0x%08x},\n", unsigned{row.code}, unsigned{row.jt},
                 unsigned{row.jf}, unsigned{row.k});
  }
  return std::fclose(file.release()) == 0 || Fail(path, errno);
}

int Main(std::initializer_list<std::span<const SeccompRule>> tables, const char* path) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return 1;
  std::vector<sock_filter> program;
  bool ok = SetAttributes(filter);
  for (const auto rules : tables)
    ok = ok && AddRules(filter, rules);
  ok = ok && Export(filter, &program) && Write(program, path);
  seccomp_release(filter);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace native_runner

int main(int argc, char** argv) {
  using native_runner::Main;
  const std::string_view which = argc == 3 ? argv[1] : "";
  if (which == "base") return Main({native_runner::kSeccompRules}, argv[2]);
  if (which == "no-sockets") return Main({native_runner::kNoSocketRules}, argv[2]);
  if (which == "own-process") {
    return Main({native_runner::kSeccompRules, native_runner::kOwnProcessRules}, argv[2]);
  }
  std::fputs("usage: generate base|no-sockets|own-process OUTPUT\n", stderr);
  return 2;
}
