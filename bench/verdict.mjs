// A bar is { atMost | atLeast, aim }; a number meets its aim, only its bar, or misses it.

export function verdict(bar, value) {
  if (bar === undefined) return "";
  const meets = (limit) => (bar.atLeast === undefined ? value <= limit : value >= limit);
  if (meets(bar.aim)) return "PASS, aim";
  return meets(bar.atLeast ?? bar.atMost) ? "PASS" : "MISS";
}
