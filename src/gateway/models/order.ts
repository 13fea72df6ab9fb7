/**
 * Returns the candidates in the order in which they are tried. The first one is chosen at random, according to the
 * weights. The others follow in descending order of weight.
 */
export function ordered<Item extends { readonly weight: number }>(
  candidates: readonly Item[],
  random: () => number,
): Item[] {
  const byWeight = candidates.toSorted((a, b) => b.weight - a.weight);
  const total = byWeight.reduce((sum, { weight }) => sum + weight, 0);
  let point = random() * total;
  const at = byWeight.findIndex(({ weight }) => (point -= weight) < 0);
  // `at` is -1 if all weights are 0, or because of a rounding error. In both cases, take the first candidate.
  const [first] = byWeight.splice(Math.max(0, at), 1);
  return first === undefined ? [] : [first, ...byWeight];
}
