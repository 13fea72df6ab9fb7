/** Maximum number of bytes in a dump. */
const MAX_BYTES = 65_536;
const PER_ROW = 16;

/** Returns rows of text. Each row has a position, and its bytes in hexadecimal and as ASCII characters. */
export function hexDump(bytes: Uint8Array): string {
  const rows: string[] = [];
  const length = Math.min(bytes.length, MAX_BYTES);
  for (let at = 0; at < length; at += PER_ROW) {
    const row = [...bytes.subarray(at, Math.min(at + PER_ROW, length))];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.'));
    const position = at.toString(16).padStart(6, '0');
    rows.push(`${position}  ${hex.padEnd(PER_ROW * 3 - 1)}  ${text.join('')}`);
  }
  if (bytes.length > length) rows.push(`… ${bytes.length - length} more bytes`);
  return rows.join('\n');
}
