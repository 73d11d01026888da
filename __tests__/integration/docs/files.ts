/** Files that examples find: `<!-- files: NAME -->`, or `<!-- files: NAME at /srv/project -->`. */

export const kFiles: Record<string, Record<string, string>> = {
  empty: {},
};
