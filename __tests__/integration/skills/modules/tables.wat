;; Grows a table that has no maximum until it can't, and then traps: 2^16 entries at a time.
(module
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "_start")
    (loop $again
      (if (i32.eq (table.grow $t (ref.null func) (i32.const 65536)) (i32.const -1)) (then (unreachable)))
      (br $again))))
