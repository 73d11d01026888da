/**
 * Name and value of "NAME=VALUE"; of "NAME" alone, with the value it has in `host`. Undefined when
 * the name is empty or `host` does not have it.
 */
export function parseVariable(
  text: string,
  host: Readonly<Record<string, string | undefined>>,
): [name: string, value: string] | undefined {
  const equals = text.indexOf("=");
  const name = equals < 0 ? text : text.slice(0, equals);
  const value = equals < 0 ? host[name] : text.slice(equals + 1);
  return name === "" || value === undefined ? undefined : [name, value];
}
