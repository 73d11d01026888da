// Build tool: writes a seccomp filter of rules.h as rows for an array of sock_filter. Its arguments
// are those of Usage(): the architecture is libseccomp's name of the processor that the filter is
// for, x86_64 or aarch64. Reporting filters let a listener answer the rules that are not quiet, by
// the table of reported calls. Anything that can't be expressed exactly fails the build.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
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

bool IsNative(std::uint32_t architecture) {
  return architecture == seccomp_arch_native();
}

// Prints the error. Always returns false.
bool SeccompFailure(const char* what, int error) {
  std::fprintf(stderr, "seccomp filter: %s: %s\n", what, std::strerror(error < 0 ? -error : error));
  return false;
}

// Finds the number of a call on `architecture` (SCMP_ARCH_…); negative if it does not exist there.
bool ResolveCall(std::uint32_t architecture, const SeccompRule& rule, int* number) {
  *number = seccomp_syscall_resolve_name_arch(architecture, rule.call);
  if (*number != __NR_SCMP_ERROR) return true;
  *number = rule.number;
  return rule.number >= 0 || SeccompFailure(rule.call, ENOENT);
}

enum class SeccompUse { kRefused, kReported };

// Compiles rules to a program, by libseccomp. The target processor may differ from the one that
// this runs on. Errors are printed, and end the build.
class FilterCompiler {
 public:
  FilterCompiler(std::uint32_t architecture, SeccompUse use)
      : architecture_(architecture), use_(use) {}

  bool Open();
  bool Add(std::span<const SeccompRule> rules);
  bool Export(std::vector<sock_filter>* program);

 private:
  struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
  };

  bool AddRule(const SeccompRule& rule);
  bool AddByNumber(const SeccompRule& rule, int number);
  std::uint32_t ActionOf(const SeccompRule& rule) const;

  std::uint32_t architecture_;
  SeccompUse use_;
  std::unique_ptr<void, Release> filter_;
  std::vector<sock_filter> unnamed_;  // handles calls that libseccomp has no name for
};

bool FilterCompiler::Open() {
  filter_.reset(seccomp_init(SCMP_ACT_ALLOW));
  if (filter_ == nullptr) return SeccompFailure("a new one", ENOMEM);
  int result = 0;
  if (!IsNative(architecture_)) {
    result = seccomp_arch_add(filter_.get(), architecture_);
    if (result == 0) result = seccomp_arch_remove(filter_.get(), SCMP_ARCH_NATIVE);
  }
  if (result != 0) return SeccompFailure("its architecture", result);
  result = seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  if (result != 0) return SeccompFailure("other architectures", result);
  // A binary tree instead of a chain; libseccomp before 2.5 only has the chain.
  static_cast<void>(seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  return true;
}

bool FilterCompiler::Add(std::span<const SeccompRule> rules) {
  for (const SeccompRule& rule : rules) {
    if (!AddRule(rule)) return false;
  }
  return true;
}

// Marks a reported call as traced until it is written: libseccomp before 2.5 has no listeners.
std::uint32_t FilterCompiler::ActionOf(const SeccompRule& rule) const {
  const auto error = static_cast<unsigned>(rule.error);
  const bool is_reported = use_ == SeccompUse::kReported && !rule.is_quiet;
  return is_reported ? SCMP_ACT_TRACE(error) : SCMP_ACT_ERRNO(error);
}

bool FilterCompiler::AddRule(const SeccompRule& rule) {
  int number = -1;
  if (!ResolveCall(architecture_, rule, &number)) return false;
  if (number < 0) return true;
  // libseccomp takes calls by this machine's numbers, and finds the other architecture's by name.
  const int here = seccomp_syscall_resolve_name(rule.call);
  if (here == __NR_SCMP_ERROR && !IsNative(architecture_)) return AddByNumber(rule, number);
  const bool is_masked = rule.compare == SCMP_CMP_MASKED_EQ;
  const scmp_arg_cmp condition{static_cast<unsigned>(rule.argument), rule.compare,
                               is_masked ? rule.mask : rule.value, is_masked ? rule.value : 0};
  const int result = seccomp_rule_add_exact_array(
      filter_.get(), ActionOf(rule), here == __NR_SCMP_ERROR ? number : here,
      rule.argument < 0 ? 0 : 1, rule.argument < 0 ? nullptr : &condition);
  return result == 0 || SeccompFailure(rule.call, result);
}

bool FilterCompiler::AddByNumber(const SeccompRule& rule, int number) {
  if (rule.argument >= 0) return SeccompFailure(rule.call, ENOTSUP);
  unnamed_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
  unnamed_.push_back(BPF_STMT(BPF_RET | BPF_K, ActionOf(rule)));
  return true;
}

bool FilterCompiler::Export(std::vector<sock_filter>* program) {
  if (!unnamed_.empty()) {
    // The rows that follow refuse another architecture's calls. Jumps are relative.
    const auto past = static_cast<unsigned char>(unnamed_.size() + 1);
    program->push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
    program->push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture_, 0, past));
    program->push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    program->insert(program->end(), unnamed_.begin(), unnamed_.end());
  }
  const std::unique_ptr<std::FILE, CloseFile> file(std::tmpfile());
  if (!file) return SeccompFailure("temporary file", errno);
  const int result = seccomp_export_bpf(filter_.get(), fileno(file.get()));
  if (result != 0) return SeccompFailure("export", result);
  std::rewind(file.get());
  sock_filter row{};
  std::size_t exported = 0;
  for (; std::fread(&row, sizeof row, 1, file.get()) == 1; ++exported)
    program->push_back(row);
  return (exported > 0 && program->size() <= BPF_MAXINSNS) || SeccompFailure("its size", E2BIG);
}

bool Write(const std::vector<sock_filter>& program, const char* path) {
  File file(std::fopen(path, "w"));
  if (!file) return SeccompFailure(path, errno);
  std::fputs("// Generated from seccomp/rules.h; {code, jt, jf, k}.\n", file.get());
  for (sock_filter row : program) {
    const bool is_reported =
        row.code == (BPF_RET | BPF_K) && (row.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE;
    if (is_reported) row.k = SECCOMP_RET_USER_NOTIF;
    std::fprintf(file.get(), "{0x%02x, %u, %u, 0x%08x},\n", unsigned{row.code}, unsigned{row.jt},
                 unsigned{row.jf}, unsigned{row.k});
  }
  return std::fclose(file.release()) == 0 || SeccompFailure(path, errno);
}

using Tables = std::initializer_list<std::span<const SeccompRule>>;

// Writes each call once: all its rules must have the same error.
bool WriteReportedCalls(std::uint32_t architecture, Tables tables, const char* path) {
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
      "base|no-sockets|no-other-sockets|own-process|told|own-process-told|told-calls OUTPUT\n",
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
  if (which == "no-sockets") return filter({kNoSocketRules, kNoPairRules}, SeccompUse::kRefused);
  if (which == "no-other-sockets")
    return filter({kNoOtherSocketRules, kNoPairRules}, SeccompUse::kRefused);
  if (which == "own-process") return filter(own_process, SeccompUse::kRefused);
  if (which == "told") return filter(base, SeccompUse::kReported);
  if (which == "own-process-told") return filter(own_process, SeccompUse::kReported);
  if (which == "told-calls") return WriteReportedCalls(architecture, own_process, path) ? 0 : 1;
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
