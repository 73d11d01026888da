#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// The result of a blocking read.
struct Received {
  std::string bytes;
  bool is_reset = false;  // it ended by a reset, not by an end
  bool is_late = false;   // nothing came within a generous time
};

// A blocking socket of a test.
class Peer {
 public:
  explicit Peer(Descriptor socket);
  // Connects; `connected` tells if that worked. It is true also if the other side has reset the
  // connection since, which connect(2) may report on one processor.
  Peer(const char* address, std::uint16_t port);

  bool connected() const { return socket_.valid(); }
  int get() const { return socket_.get(); }
  // False: the connection is broken.
  bool Send(const std::string& bytes);
  // Reads until the end.
  Received ReadAll();
  // Reads until the text ends with `end`, or the connection ends.
  Received ReadTo(const std::string& end);
  Received ReadSome(std::size_t most);
  // Reads so many bytes, or fewer if the connection ends.
  std::string ReadExactly(std::size_t size);
  void ShutWrite();
  void Reset() { ResetConnection(std::move(socket_)); }
  void Close() { socket_.Close(); }

 private:
  Descriptor socket_;
  bool is_reset_ = false;
};

// A socket that listens at `address`, with any port if it is 0.
Descriptor ListenAt(const char* address, std::uint16_t port, int backlog = 1024);
Descriptor UdpAt(const char* address, std::uint16_t port);
std::uint16_t PortOf(const Descriptor& socket);

// Connects to a listener without accepting anything, until its queue is full: what connects after
// that gets no answer.
class FullListener {
 public:
  FullListener(const char* address, std::uint16_t port);
  std::uint16_t port() const { return PortOf(listener_); }

 private:
  Descriptor listener_;
  std::vector<Descriptor> waiting_;
};

// Serves each connection on a thread of its own until it goes.
class TestServer {
 public:
  using Serve = std::function<void(Peer)>;
  explicit TestServer(Serve serve, const char* address = "127.0.0.1");
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::uint16_t port() const { return port_; }
  int accepted() const;
  // Waits until there were as many; false where there were more, or there are not in a long time.
  bool HasAccepted(int count) const;

 private:
  Descriptor listener_;
  std::uint16_t port_;
  Serve serve_;
  mutable std::mutex mutex_;
  int accepted_ = 0;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Sends back what comes, then ends.
void Echo(Peer peer);

}  // namespace native_runner
