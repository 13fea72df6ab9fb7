/** A small library, so that the example needs no network. */
export const FIELDS = ['history', 'chemistry', 'economics'] as const;
export type Field = (typeof FIELDS)[number];

export const LIBRARY: Readonly<Record<Field, Readonly<Record<string, string>>>> = {
  history: {
    coffee:
      'Coffee houses spread from Yemen through Cairo to Europe in the 16th and 17th centuries.',
    tea: 'Tea was drunk in China for two thousand years before it came to Europe around 1610.',
  },
  chemistry: {
    coffee: 'Roasting turns sugars and amino acids into some eight hundred aromatic compounds.',
    tea: 'The same leaf gives green or black tea: oxidation makes the difference.',
  },
  economics: {
    coffee: "Brazil grows about a third of the world's coffee.",
    tea: "China grows almost half of the world's tea, and drinks most of it.",
  },
};
