// splice-floor PORT: says on which port of 127.0.0.1 it listens, takes one connection, relays it to
// PORT by splice(2) through a pipe of 1 MiB for each direction, and says what processor time (in
// ms) that has taken.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kPipeBytes = 1 << 20 };

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct direction {
  int from, to, ends[2];
  size_t held;
  int has_ended;  // 1: nothing more comes; 2: and the other side knows
};

// Moves what can be moved now.
static void move(struct direction* way) {
  for (int turns = 0; turns < 16; turns++) {
    ssize_t in = 0;
    if (way->has_ended == 0 && way->held < kPipeBytes) {
      in = splice(way->from, NULL, way->ends[1], NULL, kPipeBytes - way->held,
                  SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (in == 0) way->has_ended = 1;
      if (in > 0) way->held += (size_t)in;
    }
    ssize_t out = 0;
    if (way->held > 0) {
      out = splice(way->ends[0], NULL, way->to, NULL, way->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (out > 0) way->held -= (size_t)out;
    }
    if (in <= 0 && out <= 0) break;
  }
  if (way->has_ended == 1 && way->held == 0) {
    shutdown(way->to, SHUT_WR);
    way->has_ended = 2;
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in own = loopback(0);
  socklen_t length = sizeof own;
  if (bind(listener, (struct sockaddr*)&own, sizeof own) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr*)&own, &length) != 0)
    fail("listen");
  printf("%d\n", ntohs(own.sin_port));
  fflush(stdout);

  const int inside = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  const int outside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in server = loopback(atoi(argv[1]));
  if (inside < 0 || connect(outside, (struct sockaddr*)&server, sizeof server) != 0)
    fail("connect");
  fcntl(inside, F_SETFL, O_NONBLOCK);
  fcntl(outside, F_SETFL, O_NONBLOCK);
  struct direction ways[2] = {{.from = inside, .to = outside}, {.from = outside, .to = inside}};
  for (int i = 0; i < 2; i++) {
    if (pipe2(ways[i].ends, O_CLOEXEC | O_NONBLOCK) != 0) fail("pipe2");
    fcntl(ways[i].ends[0], F_SETPIPE_SZ, kPipeBytes);
  }

  while (ways[0].has_ended != 2 || ways[1].has_ended != 2) {
    struct pollfd polled[2] = {{.fd = inside}, {.fd = outside}};
    for (int i = 0; i < 2; i++) {
      if (ways[i].has_ended == 0 && ways[i].held < kPipeBytes) polled[i].events |= POLLIN;
      if (ways[i].held > 0) polled[1 - i].events |= POLLOUT;
    }
    if (poll(polled, 2, 60000) <= 0) fail("poll");
    move(&ways[0]);
    move(&ways[1]);
  }
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%.3f\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3);
  return 0;
}
