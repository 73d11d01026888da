#pragma once

#include <napi.h>

#include <cstdint>
#include <map>
#include <string>

#include "addon/environment/event_queue.h"
#include "addon/values/result.h"
#include "addon/values/value_builder.h"

namespace native_runner {

// The promise and the callbacks of one run.
struct PendingRun {
  napi_deferred deferred = nullptr;
  Napi::FunctionReference on_stdout;
  Napi::FunctionReference on_stderr;
  Napi::FunctionReference on_event;  // of a live process
  Napi::FunctionReference on_connection;
  std::string policy_hash;
};

// The runs of one Node environment that have not settled: their output and events go to callbacks,
// their end settles a promise. Events of other runs are dropped. JavaScript thread.
class PendingRuns {
 public:
  explicit PendingRuns(Napi::Env env) : env_(env) {}

  // Sets the function that makes an ended run's result; called before the first run.
  void set_make_result(const Napi::Function& make) { results_.set_make_result(make); }

  // Returns the run's number, from 1 on.
  std::uint64_t Add(PendingRun run);
  bool Contains(std::uint64_t run) const { return runs_.contains(run); }
  bool empty() const { return runs_.empty(); }
  void Clear() { runs_.clear(); }

  void Deliver(const events::Chunk& chunk);
  void Deliver(const events::Event& event);
  void Deliver(const events::Connection& connection);
  void Deliver(events::Ended ended);

 private:
  void Call(ValueBuilder& builder, const Napi::FunctionReference& callback, napi_value argument);

  Napi::Env env_;
  ResultMaker results_;
  std::map<std::uint64_t, PendingRun> runs_;
  std::uint64_t last_run_ = 0;
};

// `opened` settles with the layers of the session's commands, `ended` later with the reason of its
// end.
struct SessionPromises {
  napi_deferred opened = nullptr;
  napi_deferred ended = nullptr;
};

// The sessions of one Node environment that have not ended. JavaScript thread.
class PendingSessions {
 public:
  explicit PendingSessions(Napi::Env env) : env_(env) {}

  // `session` must be unique.
  void Add(std::uint64_t session, SessionPromises promises);
  // Marks a session as being closed, which keeps the process alive. False: it was never opened, or
  // has ended.
  bool BeginClose(std::uint64_t session);
  // True if a session is being opened or closed; an open one alone keeps no process alive.
  bool keep_alive() const;
  void Clear() { sessions_.clear(); }

  void Deliver(const events::SessionOpen& open);
  void Deliver(const events::SessionGone& gone);

 private:
  struct Session {
    SessionPromises promises;
    bool keeps_alive = true;
  };

  Napi::Env env_;
  std::map<std::uint64_t, Session> sessions_;
};

// The unanswered pool requests of one Node environment: each settles a promise with the number of
// prewarmed sandboxes. JavaScript thread.
class PendingPoolRequests {
 public:
  explicit PendingPoolRequests(Napi::Env env) : env_(env) {}

  // Returns the request's number, from 1 on. Without `deferred` the answer is dropped.
  std::uint64_t Add(napi_deferred deferred);
  bool empty() const { return requests_.empty(); }
  void Clear() { requests_.clear(); }

  void Deliver(const events::PoolAnswer& answer);

 private:
  Napi::Env env_;
  std::map<std::uint64_t, napi_deferred> requests_;
  std::uint64_t last_request_ = 0;
};

// The port waits of one Node environment that have not ended: each settles a promise with its
// outcome, in the words of types/addon.d.ts. JavaScript thread.
class PendingPortWaits {
 public:
  explicit PendingPortWaits(Napi::Env env) : env_(env) {}

  // Returns the wait's number, from 1 on.
  std::uint64_t Add(napi_deferred deferred);
  bool empty() const { return waits_.empty(); }
  void Clear() { waits_.clear(); }

  void Deliver(const events::PortAnswer& answer);

 private:
  Napi::Env env_;
  std::map<std::uint64_t, napi_deferred> waits_;
  std::uint64_t last_wait_ = 0;
};

// The forwards that one Node environment waits to be opened or closed: each settles a promise, in
// the words of types/addon.d.ts. JavaScript thread.
class PendingForwards {
 public:
  explicit PendingForwards(Napi::Env env) : env_(env) {}

  // Returns the request's number, from 1 on.
  std::uint64_t Add(napi_deferred deferred);
  bool empty() const { return requests_.empty(); }
  void Clear() { requests_.clear(); }

  void Deliver(const events::ForwardDone& done);
  // Settles a promise that nothing waits for.
  static void Settle(Napi::Env env, napi_deferred deferred, const ForwardAnswer& answer);

 private:
  Napi::Env env_;
  std::map<std::uint64_t, napi_deferred> requests_;
  std::uint64_t last_request_ = 0;
};

// The paths whose answer one Node environment awaits: each settles a promise. JavaScript thread.
class PendingPaths {
 public:
  explicit PendingPaths(Napi::Env env) : env_(env) {}

  // Returns the request's number, from 1 on.
  std::uint64_t Add(napi_deferred deferred);
  bool empty() const { return requests_.empty(); }
  void Clear() { requests_.clear(); }

  void Deliver(const events::PathAnswer& answer);

 private:
  Napi::Env env_;
  std::map<std::uint64_t, napi_deferred> requests_;
  std::uint64_t last_request_ = 0;
};

// The JavaScript functions that the networks by domain of one Node environment ask, by number. The
// runner's handle keeps each alive, and this does not, since the function may hold the runner: a
// collected one answers nothing. Questions keep no loop alive; the runs that wait for them do.
// JavaScript thread.
class NetworkAskers {
 public:
  explicit NetworkAskers(Napi::Env env) : env_(env) {}

  // Returns the asker's number, from 1 on. `handle` keeps `on_request` alive.
  std::uint64_t Add(Napi::Object handle, const Napi::Function& on_request);
  void Remove(std::uint64_t asker) { askers_.erase(asker); }
  void Clear();

  // False if no function was asked.
  bool Deliver(events::Question question);
  void Deliver(const events::QuestionGone& gone);
  // Removes an answered question.
  void Forget(std::uint64_t question) { asked_.erase(question); }

 private:
  bool Call(ValueBuilder& builder, std::uint64_t asker, std::uint64_t question, napi_value what);

  Napi::Env env_;
  std::map<std::uint64_t, Napi::FunctionReference> askers_;  // weak
  std::map<std::uint64_t, std::uint64_t> asked_;             // asker, by question
  std::uint64_t last_asker_ = 0;
};

}  // namespace native_runner
