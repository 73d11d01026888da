# Everything that a bash hands on, in the forms that are hard to quote.
mkdir -p 'a dir/é' && cd 'a dir/é'
plain='two words' ; export exported="q'\"\$x\`" ; lines=$'line one\nexport not=this\nend'
empty= ; declare -i number=7 ; declare -r fixed='stays' ; declare -l lower=ABC
list=(one 'two three' $'four\nfive' [9]=nine) ; declare -A map=([key one]='v 1' [$'k\n2']=$'v\n2')
text() {
  cat <<END
here $1
 'and "there
END
}
nested() { inner() { echo "inner $1"; }; inner "$1"; }
shared() { echo "shared $1"; } ; export -f shared
