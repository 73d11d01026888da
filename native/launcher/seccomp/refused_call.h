#pragma once

namespace native_runner {

// A call that rules.h refuses, not quietly, and how.
struct RefusedCall {
  int number = -1;
  const char* name = nullptr;
  int error = 0;
  int argument = 0;  // the index of the one that says what it was for
};

// nullptr: no rule refuses any call of this number, or does so quietly.
const RefusedCall* FindRefusedCall(int number);

}  // namespace native_runner
