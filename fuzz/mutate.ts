/** Changes recorded texts and JSON values at random. */
import type { Random } from './random.ts';
import { byte, fromEntries, json, oddText, text, type Json } from './values.ts';

/** The longest piece that is repeated. Longer texts would be slow to handle, whatever is in them. */
const MAX_PIECE = 1000;

/** Changes a text in one to four places. `others` are texts from which pieces are spliced in. */
export function mutateText(random: Random, source: string, others: readonly string[] = []): string {
  let changed = source;
  for (let left = 1 + random.int(4); left > 0; left--) changed = change(random, changed, others);
  return changed;
}

function change(random: Random, source: string, others: readonly string[]): string {
  const at = random.int(source.length + 1);
  const end = Math.min(source.length, at + 1 + random.int(random.once(4) ? source.length : 8));
  const [before, piece, after] = [source.slice(0, at), source.slice(at, end), source.slice(end)];
  switch (random.int(12)) {
    case 0:
      return before;
    case 1:
      return before + after;
    case 2:
      return before + piece + piece + after;
    case 3:
      return before + oddText(random) + piece + after;
    case 4:
      return before + text(random) + after;
    case 5: {
      // One bit of one byte.
      const code = piece.charCodeAt(0) || 0;
      const flipped = code ^ (1 << random.int(8));
      const put = random.once(3) ? byte(flipped) : String.fromCharCode(flipped);
      return before + put + piece.slice(1) + after;
    }
    case 6: {
      const other = others.length > 0 ? random.pick(others) : source;
      const from = random.int(other.length + 1);
      return before + other.slice(from, from + random.int(60)) + after;
    }
    case 7: {
      const from = random.int(source.length + 1);
      return before + source.slice(from, from + piece.length) + after;
    }
    case 8:
      return before + after.slice(0, piece.length) + piece + after.slice(piece.length);
    case 9:
      return before + piece.slice(0, MAX_PIECE).repeat(random.once(20) ? 2000 : 5) + after;
    case 10:
      return before + random.pick(['\n', '\r', '\r\n', '\n\n', ' ', '\t', '\0']) + piece + after;
    default:
      return before + piece.toUpperCase() + after;
  }
}

/** Changes one to three values of a JSON value. `keys` are names that mean something to the reader. */
export function mutateJson(random: Random, source: Json, keys: readonly string[] = []): Json {
  let changed = source;
  for (let left = 1 + random.int(3); left > 0; left--) changed = changeAt(random, changed, keys);
  return changed;
}

function changeAt(random: Random, value: Json, keys: readonly string[]): Json {
  const isInner = typeof value === 'object' && value !== null;
  if (!isInner || random.once(4)) return replace(random, value, keys);
  if (Array.isArray(value)) {
    if (value.length === 0) return [json(random, keys)];
    const at = random.int(value.length);
    return value.map((each, index) => (index === at ? changeAt(random, each, keys) : each));
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return fromEntries([[text(random), json(random, keys)]]);
  const at = random.int(entries.length);
  return fromEntries(
    entries.map(([key, each], index) => [key, index === at ? changeAt(random, each, keys) : each]),
  );
}

function replace(random: Random, value: Json, keys: readonly string[]): Json {
  if (Array.isArray(value)) {
    switch (random.int(6)) {
      case 0:
        return [];
      case 1:
        return [...value, ...value];
      case 2:
        return value.toReversed();
      case 3:
        return [...value, json(random, keys)];
      case 4:
        return value.slice(1);
      default:
        return json(random, keys);
    }
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    const at = random.int(entries.length + 1);
    const key = keys.length > 0 && random.once(2) ? random.pick(keys) : text(random);
    switch (random.int(7)) {
      case 0:
        return fromEntries(entries.toSpliced(at, 1));
      case 1:
      case 2:
        return fromEntries([...entries, [key, json(random, keys)]]);
      case 3:
        return fromEntries(entries.map(([name, each], index) => [index === at ? key : name, each]));
      case 4: {
        // The values of two fields change places.
        const values = entries.map(([, each]) => each);
        const turned = [...values.slice(1), ...values.slice(0, 1)];
        return fromEntries(entries.map(([name], index) => [name, turned[index] ?? null]));
      }
      case 5:
        return [value];
      default:
        return json(random, keys);
    }
  }
  if (typeof value === 'string') return random.once(3) ? json(random, keys) : text(random);
  return json(random, keys);
}
