pwd
declare -p plain exported lines empty number fixed lower list map
text doc
nested arg
bash -c 'shared child'
env | grep -c '^exported='
