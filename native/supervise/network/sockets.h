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
#include "supervise/os/handle.h"

namespace native_runner {

// Watches a socket owned elsewhere, for events that change often (uv_poll_t): unwanted events cause
// no wake-up. Supervisor thread only; the callback may destroy this.
class Watch {
 public:
  using Callback = std::function<void()>;

  Watch() = default;
  ~Watch() { Close(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns false if the socket can't be watched. No events are wanted at first.
  [[nodiscard]] bool Open(uv_loop_t* loop, int descriptor);
  // Replaces the callback.
  void set_callback(Callback callback) { callback_ = std::move(callback); }
  // `events`: UV_READABLE, UV_WRITABLE, UV_DISCONNECT or 0. With any of them, an error or a hang-up
  // calls back too.
  void Want(int events);
  void Close();

 private:
  void Called(int status);

  uv_poll_t* handle_ = nullptr;
  int descriptor_ = -1;
  PolledDescriptor without_epoll_;
  int wanted_ = 0;
  Callback callback_;
};

// Returns true if a quarter of the host program's descriptors (RLIMIT_NOFILE) is still free, judged
// by a just opened descriptor: the kernel assigns the lowest free number. Connections of sandboxes
// stop there, so that no command can starve the program of files, runs or network.
bool LeavesDescriptors(int descriptor);

// An address and a port.
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
};

// A socket address for connect(2).
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  explicit SocketAddress(const Endpoint& endpoint);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Returns nullopt if the address is neither IPv4 nor IPv6.
std::optional<Endpoint> EndpointOf(const sockaddr* address);
// Returns the socket's local address; of an accepted socket, the address that its client connected
// to.
std::optional<Endpoint> LocalEndpoint(int socket);

// Closes the socket so that the peer sees a reset, not an end of file.
void ResetConnection(Descriptor socket);
// Sends small writes at once.
void SetNoDelay(int socket);
// Probes the peer periodically, so that a dead peer ends the connection.
void SetKeepAlive(int socket);

// A connected non-blocking socket with its unused input and unsent output. Movable, so that one
// connection stage hands it to the next. Supervisor thread only.
class SocketStream {
 public:
  enum class ReadState {
    kSome,     // data was read
    kNothing,  // no data now
    kEnd,      // the peer sends no more
    kError,    // the connection is broken
  };

  SocketStream() = default;
  explicit SocketStream(Descriptor socket) : socket_(std::move(socket)) {}

  bool valid() const { return socket_.valid(); }
  int get() const { return socket_.get(); }

  // Returns false if the socket can't be watched.
  [[nodiscard]] bool Open(uv_loop_t* loop);
  void set_callback(Watch::Callback callback) { watch_->set_callback(std::move(callback)); }
  void Want(int events) { watch_->Want(events); }

  // Appends available data to `input`, up to a size of `most`.
  ReadState Read(std::size_t most);
  // Drops the input, and some of what is available where it is: the kernel copies none of it.
  ReadState Discard();
  // Sends as much of `output` as possible. Returns false if the connection is broken.
  bool Flush();
  // Returns the number of bytes of output that the kernel took.
  std::uint64_t sent() const { return sent_; }
  // Returns true if both directions are over, or the connection is broken: the peer awaits no
  // answer.
  bool IsGone() const;

  void ShutWrite();
  void Close();
  void Reset();
  // Releases the socket and stops watching it.
  Descriptor Release();

  std::string input;
  std::string output;

 private:
  Descriptor socket_;
  std::unique_ptr<Watch> watch_;
  std::uint64_t sent_ = 0;
};

}  // namespace native_runner
