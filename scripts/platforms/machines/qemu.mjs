// Boots a kernel in an emulated machine, and hands out what it wrote to its console. The emulator is
// that of one Debian suite, with the suite's own libraries: an older one lets newer kernels crash.
// The guest has no network, and its disks are as before at its end.
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DebianSuite } from "../debian-suite.mjs";

const kSuite = "trixie";
const kPackages = ["qemu-system-x86", "qemu-system-arm", "seabios"];
const kMemoryMiB = 1536;
const kSlowIops = 60;

/** By Debian's name of the processor. */
const kMachines = {
  amd64: {
    program: "qemu-system-x86_64",
    hardware: ["-M", "q35", "-cpu", "max"],
    // The kernel measures the timer while it starts, and panics where the emulator was held up then.
    parameters: ["console=ttyS0", "no_timer_check"],
  },
  arm64: {
    program: "qemu-system-aarch64",
    hardware: ["-M", "virt", "-cpu", "cortex-a72"],
    parameters: ["console=ttyAMA0"],
  },
};

/** Guests that are running: none outlives this process, but where that is killed by SIGKILL. */
const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })) {
  process.once(signal, () => process.exit(128 + number));
}

/** The hardware can't help where this machine is itself a guest without that, whatever /dev has. */
function canVirtualize(arch) {
  const native = { amd64: "x64", arm64: "arm64" }[arch] === process.arch;
  return native && arch === "amd64" && /\b(vmx|svm)\b/.test(readFileSync("/proc/cpuinfo", "utf8"));
}

/** The emulator's words, with the libraries that it was built for. */
function emulator(program) {
  const tree = new DebianSuite(kSuite).treeOf("qemu", kPackages);
  const libraries = path.join(tree, "usr/lib/x86_64-linux-gnu");
  const loader = path.join(libraries, "ld-linux-x86-64.so.2");
  const firmware = ["qemu", "seabios"].flatMap((name) => [
    "-L",
    path.join(tree, "usr/share", name),
  ]);
  const words = ["--library-path", libraries, path.join(tree, "usr/bin", program), ...firmware];
  return { loader, words, env: { QEMU_MODULE_DIR: path.join(libraries, "qemu") } };
}

/**
 * @param machine `arch`, `kernel`, `initramfs`; `disks`, files, the first of which is the root's; `slowDisk`, a further
 *   file, which does so few things a second that programs wait for it.
 * @param parameters of the kernel's command line.
 * @param silenceMs a guest that has written nothing for so long is killed.
 * @param log a file that has what it has written so far.
 * @returns {Promise<{ output: string, end: string | undefined }>} `end`: why it did not shut down itself.
 */
export function boot({ arch, kernel, initramfs, disks, slowDisk }, parameters, silenceMs, log) {
  const { program, hardware, parameters: own } = kMachines[arch];
  const { loader, words, env } = emulator(program);
  const driveOf = (file) => `file=${file},if=virtio,format=raw,snapshot=on,cache=unsafe`;
  const all = disks.map(driveOf);
  if (slowDisk !== undefined) all.push(`${driveOf(slowDisk)},throttling.iops-total=${kSlowIops}`);
  const drives = all.flatMap((drive) => ["-drive", drive]);
  const append = [...own, "panic=-1", "loglevel=3", "nowatchdog", "mitigations=off", ...parameters];
  const emulated = [
    ...words,
    ...hardware,
    ...(canVirtualize(arch) ? ["-accel", "kvm"] : ["-accel", "tcg"]),
    // One processor: two of them wait for each other, where the emulator does not get both at once.
    ...["-smp", "1", "-m", String(kMemoryMiB)],
    ...["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"],
    ...["-kernel", kernel, "-initrd", initramfs, ...drives, "-append", append.join(" ")],
  ];
  return new Promise((resolve, reject) => {
    const child = spawn("nice", ["-n", "10", loader, ...emulated], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    running.add(child);
    let output = "";
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, silenceMs);
    const take = (text) => {
      timer.refresh();
      output += text;
      appendFileSync(log, text);
    };
    writeFileSync(log, "");
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      running.delete(child);
      clearTimeout(timer);
      const how = isLate
        ? `it was killed: it had written nothing for ${silenceMs / 1000} s`
        : `QEMU ended with ${signal ?? code}`;
      resolve({ output, end: !isLate && code === 0 ? undefined : how });
    });
  });
}
