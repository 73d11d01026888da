#include "supervise/os/handle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "supervise/os/descriptor.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

PipeEnds PipeWithAByte() {
  auto pipe = MakePipe();
  EXPECT_TRUE(pipe);
  EXPECT_EQ(write(pipe->write.get(), "x", 1), 1);
  return std::move(*pipe);
}

TEST(Poll, CallsBackWhileThereIsSomethingToRead) {
  TestLoop loop;
  const PipeEnds pipe = PipeWithAByte();
  Poll poll;
  int calls = 0;
  ASSERT_EQ(poll.Start(loop.get(), pipe.read.get(), UV_READABLE,
                       [&] {
                         char byte = 0;
                         if (++calls == 3) {
                           EXPECT_EQ(read(pipe.read.get(), &byte, 1), 1);
                         }
                       }),
            0);
  EXPECT_TRUE(poll.active());
  loop.RunFor(50);
  EXPECT_EQ(calls, 3);
}

TEST(Poll, CallsBackOnHangUp) {
  TestLoop loop;
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  pipe->write.Close();
  Poll poll;
  int calls = 0;
  ASSERT_EQ(poll.Start(loop.get(), pipe->read.get(), UV_READABLE,
                       [&] {
                         ++calls;
                         poll.Stop();
                       }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Poll, CanBeStoppedInItsCallback) {
  TestLoop loop;
  const PipeEnds pipe = PipeWithAByte();
  Poll poll;
  int calls = 0;
  const std::string captured(100, 'c');  // what the callback holds must outlive the stop
  ASSERT_EQ(poll.Start(loop.get(), pipe.read.get(), UV_READABLE,
                       [&calls, &poll, captured] {
                         poll.Stop();
                         poll.Stop();
                         calls += captured == std::string(100, 'c') ? 1 : 100;
                       }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(poll.active());
}

TEST(Poll, CanBeDestroyedInItsCallback) {
  TestLoop loop;
  PipeEnds pipe = PipeWithAByte();
  auto poll = std::make_unique<Poll>();
  int calls = 0;
  const std::string captured(100, 'c');
  ASSERT_EQ(poll->Start(loop.get(), pipe.read.get(), UV_READABLE,
                        [&calls, &poll, &pipe, captured] {
                          poll.reset();
                          pipe.read.Close();  // allowed as soon as the poll is gone
                          calls += captured == std::string(100, 'c') ? 1 : 100;
                        }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Poll, CanBeRestartedInItsCallback) {
  TestLoop loop;
  const PipeEnds first = PipeWithAByte();
  const PipeEnds second = PipeWithAByte();
  Poll poll;
  std::string calls;
  ASSERT_EQ(poll.Start(loop.get(), first.read.get(), UV_READABLE,
                       [&] {
                         calls += "first ";
                         EXPECT_EQ(poll.Start(loop.get(), second.read.get(), UV_READABLE,
                                              [&] {
                                                calls += "second";
                                                poll.Stop();
                                              }),
                                   0);
                       }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, "first second");
}

// Both are ready in the same turn of the loop. The first to run destroys the other too.
TEST(Poll, OneMayDestroyAnotherThatIsReadyToo) {
  TestLoop loop;
  const PipeEnds pipes[] = {PipeWithAByte(), PipeWithAByte()};
  std::array<std::unique_ptr<Poll>, 2> polls;
  int calls = 0;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    polls[i] = std::make_unique<Poll>();
    ASSERT_EQ(polls[i]->Start(loop.get(), pipes[i].read.get(), UV_READABLE,
                              [&] {
                                ++calls;
                                for (auto& poll : polls)
                                  poll.reset();
                              }),
              0);
  }
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

// libuv would add it at the loop's next turn, and end the process if the kernel refused.
TEST(Poll, IsInTheEpollInstanceAtOnce) {
  TestLoop loop;
  const PipeEnds pipe = PipeWithAByte();
  epoll_event event{};
  const auto add = [&] {
    return epoll_ctl(uv_backend_fd(loop.get()), EPOLL_CTL_ADD, pipe.read.get(), &event);
  };
  Poll poll;
  ASSERT_EQ(poll.Start(loop.get(), pipe.read.get(), UV_READABLE, [] {}), 0);
  EXPECT_EQ(add(), -1);
  EXPECT_EQ(errno, EEXIST);
  poll.Stop();
  EXPECT_EQ(add(), 0) << "it was not taken out: nothing can be said about the above";
  EXPECT_EQ(epoll_ctl(uv_backend_fd(loop.get()), EPOLL_CTL_DEL, pipe.read.get(), &event), 0);
}

TEST(InitLoop, HasTheLoopsOwnDescriptorsInItsEpollInstance) {
  uv_loop_t loop{};
  ASSERT_EQ(InitLoop(&loop), 0);
  epoll_event event{};
  for (const int own : {loop.async_io_watcher.fd, loop.signal_pipefd[0]}) {
    ASSERT_GE(own, 0);
    EXPECT_EQ(epoll_ctl(uv_backend_fd(&loop), EPOLL_CTL_ADD, own, &event), -1);
    EXPECT_EQ(errno, EEXIST);
  }
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

// Makes the kernel refuse the calling thread each further descriptor for epoll, as when the user's
// watches are used up: no ADD (1) succeeds.
void RefuseEpollAdd() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_ADD, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(Poll, WorksWhereTheKernelTakesNoMoreForEpoll) {
  std::thread([] {
    TestLoop loop;
    const PipeEnds pipe = PipeWithAByte();
    const PipeEnds silent = std::move(MakePipe().value());
    RefuseEpollAdd();
    epoll_event event{};
    ASSERT_EQ(epoll_ctl(uv_backend_fd(loop.get()), EPOLL_CTL_ADD, pipe.read.get(), &event), -1);
    Poll poll;
    Poll never;
    int calls = 0;
    int wrong = 0;
    ASSERT_EQ(poll.Start(loop.get(), pipe.read.get(), UV_READABLE,
                         [&] {
                           if (++calls == 3) poll.Stop();
                         }),
              0);
    ASSERT_EQ(never.Start(loop.get(), silent.read.get(), UV_READABLE, [&] { ++wrong; }), 0);
    EXPECT_TRUE(poll.active());
    EXPECT_TRUE(loop.RunUntil([&] { return calls == 3; }));
    loop.RunFor(50);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(wrong, 0);
    EXPECT_FALSE(poll.active());
  }).join();
}

TEST(InitLoop, FailsWhereTheKernelTakesNoMoreForEpoll) {
  std::thread([] {
    uv_loop_t loop{};
    RefuseEpollAdd();
    EXPECT_EQ(InitLoop(&loop), UV_ENOSPC);
  }).join();
}

TEST(Poll, RefusesWhatCannotBeWatched) {
  TestLoop loop;
  const TempDirectory directory;
  const auto file = OpenPath(directory.Write("file", "text").c_str(), O_RDONLY);
  ASSERT_TRUE(file);
  Poll poll;
  EXPECT_LT(poll.Start(loop.get(), file.value().get(), UV_READABLE, [] {}), 0);
  EXPECT_FALSE(poll.active());
  EXPECT_LT(poll.Start(loop.get(), -1, UV_READABLE, [] {}), 0);
  EXPECT_FALSE(poll.active());
}

TEST(Timer, FiresOnceOrAgainAndAgain) {
  TestLoop loop;
  Timer once;
  Timer again;
  int calls = 0;
  int repeats = 0;
  once.Start(loop.get(), 1, 0, [&] { ++calls; });
  again.Start(loop.get(), 1, 1, [&] { ++repeats; });
  EXPECT_TRUE(loop.RunUntil([&] { return repeats >= 5; }));
  EXPECT_EQ(calls, 1);
  again.Stop();
  const int seen = repeats;
  loop.RunFor(20);
  EXPECT_EQ(repeats, seen);
}

TEST(Timer, CanBeStoppedInItsCallback) {
  TestLoop loop;
  Timer timer;
  int calls = 0;
  const std::string captured(100, 'c');
  timer.Start(loop.get(), 0, 1, [&calls, &timer, captured] {
    timer.Stop();
    calls += captured == std::string(100, 'c') ? 1 : 100;
  });
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(timer.active());
}

TEST(Timer, CanBeDestroyedInItsCallback) {
  TestLoop loop;
  auto timer = std::make_unique<Timer>();
  int calls = 0;
  const std::string captured(100, 'c');
  timer->Start(loop.get(), 0, 1, [&calls, &timer, captured] {
    timer.reset();
    calls += captured == std::string(100, 'c') ? 1 : 100;
  });
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Timer, CanBeRestartedInItsCallback) {
  TestLoop loop;
  Timer timer;
  std::string calls;
  timer.Start(loop.get(), 0, 1, [&] {
    calls += "first ";
    timer.Start(loop.get(), 0, 0, [&] { calls += "second"; });
  });
  EXPECT_TRUE(loop.RunUntil([&] { return calls.find("second") != std::string::npos; }));
  EXPECT_EQ(calls, "first second");
}

TEST(Timer, NeverFiresOnceItIsGone) {
  TestLoop loop;
  int calls = 0;
  {
    Timer timer;
    timer.Start(loop.get(), 0, 0, [&] { ++calls; });
  }
  loop.RunFor(20);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace native_runner
