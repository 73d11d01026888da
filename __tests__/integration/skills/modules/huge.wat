;; Asks for 2 GiB at its start.
(module
  (memory (export "memory") 32768)
  (func (export "_start")))
