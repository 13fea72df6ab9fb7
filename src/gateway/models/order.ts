/** In which order places are asked: the first by chance, each with its share; the others by weight, when it fails. */
export function ordered<Place extends { readonly weight: number }>(
  places: readonly Place[],
  random: () => number,
): Place[] {
  const byWeight = places.toSorted((a, b) => b.weight - a.weight);
  const total = byWeight.reduce((sum, { weight }) => sum + weight, 0);
  let point = random() * total;
  const at = byWeight.findIndex(({ weight }) => (point -= weight) < 0);
  // With nothing but zeros, or by a rounding error, it is the first.
  const [first] = byWeight.splice(Math.max(0, at), 1);
  return first === undefined ? [] : [first, ...byWeight];
}
