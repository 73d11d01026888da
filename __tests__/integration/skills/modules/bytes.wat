;; Writes two bytes that are no UTF-8.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\20\00\00\00\02\00\00\00")
  (data (i32.const 32) "\ff\fe")
  (func (export "_start") (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))
