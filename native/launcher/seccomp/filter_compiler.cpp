#include "launcher/seccomp/filter_compiler.h"

#include <linux/seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace native_runner {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool IsNative(std::uint32_t architecture) {
  return architecture == seccomp_arch_native();
}

}  // namespace

bool SeccompFailure(const char* what, int error) {
  std::fprintf(stderr, "seccomp filter: %s: %s\n", what, std::strerror(error < 0 ? -error : error));
  return false;
}

bool ResolveCall(std::uint32_t architecture, const SeccompRule& rule, int* number) {
  *number = seccomp_syscall_resolve_name_arch(architecture, rule.call);
  if (*number != __NR_SCMP_ERROR) return true;
  *number = rule.number;
  return rule.number >= 0 || SeccompFailure(rule.call, ENOENT);
}

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
  // A binary tree instead of a chain; libseccomp before 2.5 can only do the chain.
  static_cast<void>(seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  return true;
}

bool FilterCompiler::Add(std::span<const SeccompRule> rules) {
  for (const SeccompRule& rule : rules) {
    if (!AddRule(rule)) return false;
  }
  return true;
}

// One that is told is for a tracer, until it is written: libseccomp before 2.5 knows of no
// listeners.
std::uint32_t FilterCompiler::ActionOf(const SeccompRule& rule) const {
  const auto error = static_cast<unsigned>(rule.error);
  const bool is_told = use_ == SeccompUse::kTold && !rule.is_quiet;
  return is_told ? SCMP_ACT_TRACE(error) : SCMP_ACT_ERRNO(error);
}

bool FilterCompiler::AddRule(const SeccompRule& rule) {
  int number = -1;
  if (!ResolveCall(architecture_, rule, &number)) return false;
  if (number < 0) return true;
  // libseccomp is told of calls by their numbers here, and finds the other architecture's by name.
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
    // Another architecture's calls are refused by what follows. Jumps are relative.
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

}  // namespace native_runner
