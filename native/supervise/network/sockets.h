#pragma once

#include <sys/socket.h>
#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "policy/network/ip_address.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Watches a socket that somebody else owns, for events that change often (uv_poll_t): what is not
// wanted costs no wake-up. Supervisor thread only; the callback may destroy it.
class Watch {
 public:
  using Callback = std::function<void()>;

  Watch() = default;
  ~Watch() { Close(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // False: it can't be watched. Nothing is wanted at first.
  [[nodiscard]] bool Open(uv_loop_t* loop, int descriptor);
  // Whom it calls from now on.
  void set_callback(Callback callback) { callback_ = std::move(callback); }
  // UV_READABLE, UV_WRITABLE, UV_DISCONNECT or 0. With any of them an error or a hang-up calls back
  // too.
  void Want(int events);
  void Close();

 private:
  void Called(int status);

  uv_poll_t* handle_ = nullptr;
  int wanted_ = 0;
  Callback callback_;
};

// Whether the host's program still has a quarter of its descriptors (RLIMIT_NOFILE), by one that
// was just opened: the kernel gives out the lowest number that is free. Connections of sandboxes
// stop there, so that no command can take the files, the runs and the network of the program away.
bool LeavesDescriptors(int descriptor);

// An address and a port, and what is asked of sockets by them.
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
};

// For connect(2).
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  explicit SocketAddress(const Endpoint& endpoint);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// nullopt for what is neither IPv4 nor IPv6.
std::optional<Endpoint> EndpointOf(const sockaddr* address);
// What the socket is bound to: of an accepted one, whom its client connected to.
std::optional<Endpoint> LocalEndpoint(int socket);

// Closes it so that the other side sees a reset, not an end.
void ResetConnection(Descriptor socket);
// Small writes leave at once.
void SetNoDelay(int socket);
// Asks the peer now and then whether it is there, so that a dead one ends the connection.
void SetKeepAlive(int socket);

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
