// Numbers as a reader wants them: three significant digits, as far as they matter.

export function figure(value) {
  if (value === undefined) return "";
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 0.095 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}

export const spread = (low, high) => `${figure(low)}–${figure(high)}`;
