/** The tables of cards in the register. */
export const CARDS_SCHEMA = `
`;
