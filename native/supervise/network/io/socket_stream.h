#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "supervise/network/io/watch.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// A connected socket that does not block, with what was read of it and not used yet, and what is
// still to be sent. Movable, so that one conversation hands it to the next. Supervisor thread only.
class SocketStream {
 public:
  enum class ReadState {
    kSome,     // something came
    kNothing,  // nothing now
    kEnd,      // the other side sends no more
    kError,    // the connection is broken
  };

  SocketStream() = default;
  explicit SocketStream(Descriptor socket) : socket_(std::move(socket)) {}

  bool valid() const { return socket_.valid(); }
  int get() const { return socket_.get(); }

  // False: it can't be watched.
  [[nodiscard]] bool Open(uv_loop_t* loop);
  void set_callback(Watch::Callback callback) { watch_->set_callback(std::move(callback)); }
  void Want(int events) { watch_->Want(events); }

  // Adds what there is to `input`, which does not get larger than `most`.
  ReadState Read(std::size_t most);
  // Sends of `output` what goes. False: the connection is broken.
  bool Flush();
  // How many bytes the kernel took of what was to be sent.
  std::uint64_t sent() const { return sent_; }
  // Whether both directions are over, or it is broken: nobody waits for an answer.
  bool IsGone() const;

  void ShutWrite();
  void Close();
  void Reset();
  // Leaves watching to the next owner.
  Descriptor Release();

  std::string input;
  std::string output;

 private:
  Descriptor socket_;
  std::unique_ptr<Watch> watch_;
  std::uint64_t sent_ = 0;
};

}  // namespace native_runner
