;; Grows its memory page by page; traps when it can't.
(module
  (memory (export "memory") 1)
  (func (export "_start")
    (loop $again
      (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable)))
      (br $again))))
