const kColumns = 100;

/** Rows of "title  text", texts aligned and wrapped at word ends to 100 columns. */
export function table(rows: readonly (readonly [title: string, text: string])[]): string {
  const indent = Math.max(...rows.map(([title]) => title.length)) + 2;
  const lines: string[] = [];
  for (const [title, text] of rows) {
    let line = title.padEnd(indent - 1);
    for (const word of text.split(" ")) {
      if (line.length + word.length + 1 > kColumns && line.length > indent) {
        lines.push(line);
        line = " ".repeat(indent - 1);
      }
      line += ` ${word}`;
    }
    lines.push(line);
  }
  return lines.join("\n");
}
