#pragma once

#include <napi.h>

#include <cstdint>
#include <map>

#include "addon/environment/news.h"

namespace native_runner {

// `opened` settles with the layers of the session's commands, `ended` later with why it has.
struct SessionPromises {
  napi_deferred opened = nullptr;
  napi_deferred ended = nullptr;
};

// The sessions of one Node environment that have not ended. JavaScript thread.
class PendingSessions {
 public:
  explicit PendingSessions(Napi::Env env) : env_(env) {}

  // `session` is unique.
  void Add(std::uint64_t session, SessionPromises promises);
  // It is being closed, and somebody waits for that. False: it was never opened, or has ended.
  bool BeginClose(std::uint64_t session);
  // Whether one is being opened or closed; an open one alone keeps no process alive.
  bool keep_alive() const;
  void Clear() { sessions_.clear(); }

  void Deliver(const news::SessionOpen& open);
  void Deliver(const news::SessionGone& gone);

 private:
  struct Session {
    SessionPromises promises;
    bool keeps_alive = true;
  };

  Napi::Env env_;
  std::map<std::uint64_t, Session> sessions_;
};

}  // namespace native_runner
