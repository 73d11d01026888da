// The types of what tests call in this folder, which is plain JavaScript: it runs without a build.

declare module "*/chaos/start.mjs" {
  export function chaosCommand(
    probe: string,
    args: readonly string[],
    options: { isRoot: boolean; node?: string },
  ): string[];
}

declare module "*/verdict.mjs" {
  type Facts = Record<string, unknown>;
  export function faultOf(
    begin: Facts,
    end: Facts,
    touched: { struck: boolean; replaced: boolean; closed: boolean },
  ): string | undefined;
}
