#pragma once

#include <uv.h>

#include <memory>

#include "supervise/clone/templates.h"
#include "supervise/host/host.h"
#include "supervise/host/host_watch.h"
#include "supervise/host/program.h"
#include "supervise/lease/leases.h"
#include "supervise/network/network_questions.h"
#include "supervise/os/cgroup.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// What the runs of one supervisor share. Supervisor thread only.
struct Shared {
  uv_loop_t* loop = nullptr;
  Descriptor null_device;
  Descriptor launcher;  // the sealed image of the launcher
  std::unique_ptr<Programs> programs;
  CgroupParent cgroups;
  Host host;
  HostWatch host_watch;
  MountTable mount_table;
  Leases leases;
  Templates* templates = nullptr;         // outlives it; nullptr: there are none
  NetworkQuestions* questions = nullptr;  // outlives it; nullptr: nobody can be asked
};

}  // namespace native_runner
