// The real job: compile native/policy of the cloned repository, the parser of HTTP that it uses and a few
// test files, as many at once as there are cores, link them with GoogleTest and run them. The compiler, the
// headers and the libraries are the host's, read-only; what is made stays in the workspace.
const script = `
set -e
mkdir -p out && cd out
{
  find ../native/policy -name '*.cpp'
  ls ../native/tests/policy/*/*path_test.cpp ../native/tests/policy/*/out*_test.cpp
} | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 \\
  g++ -std=c++20 -I../native -isystem ../third_party/llhttp/include -c
mkdir -p llhttp && (cd llhttp && gcc -I../../third_party/llhttp/include -c ../../third_party/llhttp/src/*.c)
g++ *.o llhttp/*.o -lgtest -lgtest_main -pthread -o policy_tests
./policy_tests --gtest_brief=1
`;

export const jobArgv = () => ["sh", "-c", script];
