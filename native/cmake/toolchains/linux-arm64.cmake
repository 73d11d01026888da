# Cross-builds for arm64 and glibc with Debian's compiler, g++-aarch64-linux-gnu. Its own C and C++
# libraries are all that is linked with, so no root file system of that architecture is needed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Programs and pkg-config's answers are the build machine's: they serve build tools alone.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(NATIVE_RUNNER_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(NATIVE_RUNNER_QEMU)  # so that ctest can run what needs no sandbox
  set(CMAKE_CROSSCOMPILING_EMULATOR "${NATIVE_RUNNER_QEMU};-L;/usr/aarch64-linux-gnu")
endif()
