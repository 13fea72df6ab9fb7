/**
 * Patterns of names: `*` and `?` within a segment, `**` across segments, `{a,b}` for either. Dots are characters like
 * any other, so that `secrets/**` means the hidden files too. Takes linear time per star, whatever the pattern is.
 */

const MAX_ALTERNATIVES = 64;

/** A path with forward slashes against a pattern. */
export function matchesPath(pattern: string, path: string): boolean {
  const segments = path.split('/');
  return alternatives(pattern).some((one) =>
    matches(one.split('/'), segments, '**', (wanted, actual) => matchesName(wanted, actual)),
  );
}

/** A name against a pattern with `*` and `?`. */
export function matchesName(pattern: string, name: string): boolean {
  return matches(
    pattern.split(''),
    name.split(''),
    '*',
    (wanted, actual) => wanted === '?' || wanted === actual,
  );
}

/** Two fingers: at a mismatch the last star takes one element more. */
function matches(
  pattern: readonly string[],
  text: readonly string[],
  star: string,
  same: (wanted: string, actual: string) => boolean,
): boolean {
  let at = 0;
  let lastStar = -1;
  let resume = 0;
  for (let index = 0; index < text.length;) {
    const wanted = pattern[at];
    if (wanted === star) {
      lastStar = at++;
      resume = index;
    } else if (wanted !== undefined && same(wanted, text[index]!)) {
      at++;
      index++;
    } else if (lastStar >= 0) {
      at = lastStar + 1;
      index = ++resume;
    } else return false;
  }
  while (pattern[at] === star) at++;
  return at === pattern.length;
}

/** `{a,b}`, written out. */
function alternatives(pattern: string): string[] {
  let done = [pattern];
  for (let rounds = 0; rounds < MAX_ALTERNATIVES; rounds++) {
    const next = done.flatMap((one) => {
      const match = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(one);
      if (!match) return [one];
      return match[2]!.split(',').map((choice) => match[1]! + choice + match[3]!);
    });
    if (next.length > MAX_ALTERNATIVES || next.join('\n') === done.join('\n')) return done;
    done = next;
  }
  return done;
}
