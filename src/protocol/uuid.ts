/**
 * Makes a time-ordered UUID (version 7). It works in Node and in browsers. In Node, `randomUUIDv7` of node:crypto is
 * faster.
 *
 * The UUID consists of the time in milliseconds (48 bits), the version, 12 random bits, the variant, and 62 random
 * bits.
 */
export function uuidv7(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  let time = Date.now();
  for (let at = 5; at >= 0; at--) {
    bytes[at] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
