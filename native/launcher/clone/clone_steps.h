#pragma once

#include "launcher/kernel/user_map.h"
#include "launcher/order/control.h"
#include "launcher/text/refusal.h"
#include "protocol/report.h"

namespace native_runner {

// The steps of a template, read once: what each clone's set-up needs to know of them beforehand.
struct CloneSteps {
  char** steps = nullptr;      // as the order has them, ended by nullptr
  const char* proc = nullptr;  // where the template has proc(5)
  bool is_proc_read_only = false;
  bool has_network = false;  // each clone has a network namespace of its own
  long outer_uid = 0;        // who the template is
  long outer_gid = 0;
  UserMap user;                    // of the user namespace that commands are in
  bool is_last_namespace = false;  // no user namespace can be made in that
};

// False: the refusal says what the order lacks, or which step no clone can take.
[[nodiscard]] bool ReadCloneSteps(char** steps, CloneSteps* read, Refusal* refusal);

// In the first process of a clone, which has a user and a pid namespace of its own: makes the
// others, and takes the steps. `proc`: see MapUser. False: the refusal says why.
[[nodiscard]] bool TakeCloneSteps(const CloneSteps& steps, const CloneRequest& request, int proc,
                                  const Control& control, Refusal* refusal);

}  // namespace native_runner
