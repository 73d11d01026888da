/**
 * The command of these tests: writes into the workspace that it was started, and each step that it makes, with the
 * time, so that starts and steps can be counted whatever is told of it. Without a process of its own for each step.
 */
export const kScript = `
  id=$1 steps=$2 mode=$3 extra=$4
  echo "start $id $EPOCHREALTIME" >> counter
  exec {never}<> <(:)
  case $mode in
    sum) sha256sum ;;
    echo) while read -r line; do echo "step $id $EPOCHREALTIME" >> counter; echo "$line"; done ;;
    flood) head -c "$extra" /dev/zero ;;
    plain)
      for ((step = 0; step < steps; step++)); do
        read -t 0.1 -u $never
        echo "step $id $EPOCHREALTIME" >> counter
        echo "step $step of $id"
      done ;;
  esac`;
