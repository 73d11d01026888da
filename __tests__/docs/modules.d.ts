/** Scripts that tests import; they are plain JavaScript. */

declare module "*/scripts/demo/picture.mjs" {
  export function pictureOf(text: string, title: string): string;
}
