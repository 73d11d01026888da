;; Writes 2^20 times one byte; and before that more buffers than a call may have, which fails.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "x")
  (func (export "_start")
    (local $left i32)
    (if (i32.ne (call $write (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 12)) (i32.const 28))
      (then (unreachable)))
    (local.set $left (i32.const 1048576))
    (loop $more
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
      (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))))
