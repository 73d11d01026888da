# Tries to be run outside of the new session, in its set-up, or in place of what sets it up.
marker='$(touch host-ran)`touch host-ran`; touch host-ran'
declare() { builtin declare "$@"; touch declare-ran; }
eval() { touch eval-ran; }
export() { touch export-ran; }
trap() { touch trap-ran; }
printf() { touch printf-ran; }
PS4='$(touch ps4-ran)'
BASH_ENV="$PWD/evil" ; ENV="$PWD/evil" ; PROMPT_COMMAND='touch prompt-ran'
