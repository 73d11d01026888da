/** Programs and builtins that run nothing that their words name. */

const kNames = `
  [ alias apropos arch b2sum base32 base64 basename bc break bzcat bzip2 cal cat cd chattr chgrp chmod
  chown cksum clear cmp col column comm continue cp csplit cut date dd df diff diff3 dig dir dirname dirs
  dmesg dos2unix du echo egrep exit expand expr factor fallocate false fgrep file fmt fold free fsck
  fuser getconf getent getfacl groups grep gunzip gzip head help history host hostname hostnamectl
  iconv id ifconfig info install ip6tables iptables jobs join journalctl jq kill killall last
  lastlog ldconfig ldd link ln locale localectl locate logger login logname look ls lsattr lsblk
  lscpu lsmod lsof lspci lsusb lz4 lzma md5sum mesg mkdir mkfifo mknod mktemp modinfo mount mountpoint
  mv netstat nl nproc nslookup numfmt od oldpwd paste patch pathchk pgrep pidof ping pinky pkill pmap popd
  pr printenv printf ps pstree ptx pushd pwd pwdx readelf readlink realpath rename renice return rev
  rg rm rmdir route seq service set sha1sum sha224sum sha256sum sha384sum sha512sum shift shred
  shuf size sleep ss stat strings strip stty sum swapon sync sysctl systemctl tac tail tee test times
  timedatectl top touch tput tr tracepath traceroute tree true truncate tsort tty type ulimit umask umount
  unalias uname unexpand uniq unix2dos unlink unset unxz unzip unzstd uptime users uuidgen vdir vmstat
  w wait wc wget whereis which who whoami whois write xz xzcat yes zcat zdiff zgrep zip zipinfo zless zstd
  actionlint ansible-lint apk aws az babel biome black brew bundler cabal ccmake clang-format clang-tidy
  cloc composer cspell ctags ctest cypress depcheck deptry doxygen editorconfig-checker elm esbuild eslint
  ffmpeg ffprobe flake8 flow gcloud gcov gem gh gitleaks gofmt golangci-lint goimports gradle gradlew
  graphviz hadolint helm identify isort jest jscpd jshint kind ktlint lcov less2css lint-staged
  magick markdownlint mdbook meson mocha mvn mypy nano npm-check-updates nyc osv-scanner oxlint pandoc php-cs-fixer
  phpstan phpunit pip pip3 playwright pod prettier protoc psalm pulumi pycodestyle pydocstyle pyflakes
  pylint pyright pytest pytype redis-server rake rollup rspec rubocop ruff rustfmt sbt scons semgrep shellcheck
  shfmt snyk sphinx-build sqlfluff standard stylelint swc swift swiftlint terraform tflint tofu tokei tox-ini
  trivy ts-prune tsc tsup typedoc unittest vercel vite vitest vue-tsc wasm-pack webpack wrangler
  xmllint yamllint yapf yq zig pre-commit dpkg-query apt-mark dnf yum pacman zypper snap
  update-alternatives useradd usermod adduser passwd chpasswd exiftool identify montage optipng pngquant
  bats shunit2 wrk ab siege k6 vegeta nc ncat netcat socat ping6 arping fdisk parted mkfs lsns findmnt blkid
  inotifywait ts vidir sponge combine errno isutf8 : local
`;

export const kInert: ReadonlySet<string> = new Set(kNames.trim().split(/\s+/));
