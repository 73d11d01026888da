#pragma once

namespace native_runner {

// Runs `main(argument)` in a new process, which uses our memory and a copy of our descriptors, and
// waits until it has exited or executed a program. Returns its number, or -errno. It is a child
// that is to be reaped; `exit_signal`: sent to us when it ends, 0 for none (then see __WALL in
// waitpid(2)).
//
// Only system calls are safe in `main`. All signals are blocked there, so that no signal handler of
// the host runs in it. Takes 16 KiB of the calling thread's stack.
long RunInVfork(int (*main)(void*), void* argument, int exit_signal);

}  // namespace native_runner
