/** What to do where AppArmor forbids a sandbox. Pure. */

import type { HostFacts } from "./facts.js";

/** The profile that lets this one program make user namespaces, as Ubuntu's own profiles do. */
export function profileFor(program: string): string {
  return [
    `allow user namespaces to ${program}: write this to /etc/apparmor.d/bwrap`,
    "",
    "  abi <abi/4.0>,",
    "  include <tunables/global>",
    `  profile bwrap ${program} flags=(unconfined) {`,
    "    userns,",
    "    include if exists <local/bwrap>",
    "  }",
    "",
    "and load it with `apparmor_parser -r /etc/apparmor.d/bwrap`; or, for all programs,",
    "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
  ].join("\n");
}

/** The launcher is a memfd: without that flag AppArmor knows no path of it, and refuses it. */
const kNeedsDisconnected =
  "give it `flags=(attach_disconnected)`, since the launcher is a file without a path";

/** As root bwrap runs from a sealed copy, to whose path no profile of its own is attached. */
export function letInProfile(profile: string, { uid }: HostFacts, program: string): string {
  const apart =
    uid === 0 ? "" : `, or give bwrap a profile that does and start it in that: \`${program} px,\``;
  return (
    `AppArmor's profile ${profile} confines this process, and may be what refuses: allow \`userns,\`, ` +
    `\`mount,\`, \`umount,\`, \`pivot_root,\` and \`capability,\` in it${apart}; and ${kNeedsDisconnected}`
  );
}

/** Why the launcher itself may not be started; undefined: for another reason. */
export function launcherFix(reason: string, { appArmorProfile }: HostFacts): string | undefined {
  if (appArmorProfile === undefined || !/launcher: permission denied/i.test(reason))
    return undefined;
  return `AppArmor's profile ${appArmorProfile} confines this process: ${kNeedsDisconnected}`;
}
