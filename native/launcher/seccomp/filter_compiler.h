#pragma once

#include <linux/filter.h>
#include <seccomp.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "launcher/seccomp/rules.h"

// Part of the build tool generate.cpp: rules become a program, by libseccomp. The processor that it
// is for need not be the one that this runs on. Errors are printed, and end the build.

namespace native_runner {

enum class SeccompUse { kRefused, kTold };

// Prints what failed; always false.
bool SeccompFailure(const char* what, int error);

// The number that a call has on `architecture` (SCMP_ARCH_…); negative where it does not exist.
bool ResolveCall(std::uint32_t architecture, const SeccompRule& rule, int* number);

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
  std::vector<sock_filter> unnamed_;  // decides of calls that libseccomp has no name for
};

}  // namespace native_runner
