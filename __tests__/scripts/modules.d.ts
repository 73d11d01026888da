// The types of what the tests call in scripts/, which is plain JavaScript.

declare module "*/scripts/lib/cmake-cache.mjs" {
  export function movedFrom(directory: string, root: string): string | undefined;
}
