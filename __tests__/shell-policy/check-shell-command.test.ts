// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is shell text.
import { describe, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kShellBlockRules, type ShellPolicy } from "../../lib/shell-policy/policy.js";

const kStrict = { shellAllowlistMode: "strict" } as const;

describe("modes", () => {
  it("looks at the block list only by default", () => {
    expect(checkShellCommand("anything at all")).toEqual({ allowed: true, warnings: [] });
    expect(checkShellCommand("anything", { shellAllowlist: ["git"] }).allowed).toBe(true);
  });

  it("warns, once for each word", () => {
    const policy: ShellPolicy = { shellAllowlist: ["git"], shellAllowlistMode: "warn" };
    expect(checkShellCommand("evil; git x | evil", policy)).toEqual({
      allowed: true,
      warnings: [
        {
          rule: "not-on-allowlist",
          reason: "This command is not on the allow list.",
          command: "evil",
          position: 0,
        },
      ],
    });
  });

  it("refuses in strict mode, with the place of the word", () => {
    const { blocked } = checkShellCommand("git x | evil", { ...kStrict, shellAllowlist: ["git"] });
    expect(blocked).toMatchObject({ rule: "not-on-allowlist", command: "evil", position: 8 });
  });

  it("allows nothing by an empty list", () => {
    expect(checkShellCommand("ls", kStrict).allowed).toBe(false);
    expect(checkShellCommand("", kStrict).allowed).toBe(true);
    expect(checkShellCommand("A=1", kStrict).allowed).toBe(true);
  });

  it("lets the block list decide first, wherever it finds something", () => {
    const { blocked } = checkShellCommand("evil; rm -rf /", kStrict);
    expect(blocked?.rule).toBe("destructive-root");
  });
});

describe("lists", () => {
  it("takes a name for the program in a system folder only", () => {
    const policy = { ...kStrict, shellAllowlist: ["git", "./run.sh", "/usr/bin/jq"] };
    for (const word of ["git", "/usr/bin/git", "/bin/git", "./run.sh", "/usr/bin/jq", "jq"]) {
      expect(checkShellCommand(word, policy).allowed, word).toBe(true);
    }
    for (const word of [
      "./git",
      "bin/git",
      "/tmp/git",
      "run.sh",
      "../run.sh",
      "/usr/bin/../../tmp/git",
    ]) {
      expect(checkShellCommand(word, policy).allowed, word).toBe(false);
    }
  });

  it("takes further commands to refuse, wherever they lie", () => {
    const policy = { shellBlocklist: ["docker"] };
    for (const command of ["docker ps", "/opt/docker ps", "sudo docker ps", "d\\ocker"]) {
      expect(checkShellCommand(command, policy).blocked?.rule, command).toBe("blocklist");
    }
    expect(checkShellCommand("dockerd", policy).allowed).toBe(true);
  });

  it("leaves out the classes that are switched off", () => {
    const disabledShellRules = ["inline-code"] as const;
    expect(checkShellCommand("python3 -c 1", { disabledShellRules }).allowed).toBe(true);
    expect(checkShellCommand("rm -rf /", { disabledShellRules }).allowed).toBe(false);
  });

  it("refuses what it can't read with every class switched off", () => {
    const policy = { disabledShellRules: kShellBlockRules };
    for (const command of ["$x", "ls )", "LD_PRELOAD=x ls", 'sh -c "$x"', "ls\r"]) {
      expect(checkShellCommand(command, policy).allowed, command).toBe(false);
    }
  });
});

describe("the shell that will read it", () => {
  const list = { ...kStrict, shellAllowlist: ["echo"] };

  it("refuses what dash would read as other commands", () => {
    expect(checkShellCommand("echo $'\\'; reboot; echo '").allowed).toBe(false);
    expect(checkShellCommand("[[ a || b ]]", list).blocked?.rule).toBe("shell-dialect");
    expect(checkShellCommand("((echo))", list).blocked?.rule).toBe("shell-dialect");
  });

  it("takes bash's syntax where the policy says that it is bash", () => {
    const policy: ShellPolicy = { ...list, shell: "bash" };
    for (const command of ["echo $'it\\'s'", "[[ a || b ]]", "((1))", "echo ${x//a/b}"]) {
      expect(checkShellCommand(command, policy).allowed, command).toBe(true);
    }
  });
});

describe("positions", () => {
  it.each([
    ["ls; rm -rf /", 11],
    ["ls $(rm -rf /)", 12],
    // Of a string that is run, its beginning.
    ["ls; sh -c 'rm -rf /'", 10],
    ["ls )", 3],
  ])("%s", (command, position) => {
    expect(checkShellCommand(command).blocked?.position).toBe(position);
  });
});

describe("misuse", () => {
  it.each([
    [undefined, {}, "ERR_INVALID_ARG_TYPE", "command"],
    [["ls"], {}, "ERR_INVALID_ARG_TYPE", "command"],
    ["ls", null, "ERR_INVALID_ARG_TYPE", "policy"],
    ["ls", { shellAllowlist: "ls" }, "ERR_INVALID_ARG_TYPE", "policy.shellAllowlist"],
    ["ls", { shellBlocklist: [1] }, "ERR_INVALID_ARG_TYPE", "policy.shellBlocklist"],
    ["ls", { shellAllowlistMode: "loose" }, "ERR_INVALID_ARG_VALUE", "policy.shellAllowlistMode"],
    ["ls", { shell: "zsh" }, "ERR_INVALID_ARG_VALUE", "policy.shell"],
    ["ls", { disabledShellRules: ["x"] }, "ERR_INVALID_ARG_VALUE", "policy.disabledShellRules"],
    [
      "ls",
      { disabledShellRules: ["too-long"] },
      "ERR_INVALID_ARG_VALUE",
      "policy.disabledShellRules",
    ],
  ])("%j %j", (command, policy, code, field) => {
    const misuse = () => checkShellCommand(command as string, policy as ShellPolicy);
    expect(misuse).toThrow(TypeError);
    expect(misuse).toThrow(expect.objectContaining({ code }));
    expect(misuse).toThrow(`\`${field}\``);
  });
});
