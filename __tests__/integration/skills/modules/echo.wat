;; Copies standard input to standard output, 4096 bytes at a time.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\20\00\00\00\00\10\00\00") ;; one buffer: address 32, 4096 bytes
  (func (export "_start")
    (loop $more
      (i32.store (i32.const 4) (i32.const 4096))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8))
        (then
          (i32.store (i32.const 4) (i32.load (i32.const 8)))
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
          (br $more))))))
