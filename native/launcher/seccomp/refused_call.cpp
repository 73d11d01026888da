#include "launcher/seccomp/refused_call.h"

namespace native_runner {
namespace {

constexpr RefusedCall kRefusedCalls[] = {
#include "launcher/seccomp/told_calls.inc"
};

}  // namespace

const RefusedCall* FindRefusedCall(int number) {
  for (const RefusedCall& call : kRefusedCalls)
    if (call.number == number) return &call;
  return nullptr;
}

}  // namespace native_runner
